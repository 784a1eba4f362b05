'use strict';

// layout.js - Where things are drawn: layers by topological depth, scope by scope.
//
// After Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system
// structures" (IEEE Trans. SMC 11, 1981): every item of an open scope is one layer below the last
// of those that it reads, and stands in its layer near their middle. Order of execution says which
// way an edge between scopes goes, so that scopes which read one another are no problem.

const nodeWidth = 190, nodeHeight = 44, gapX = 22, gapY = 26, padding = 14, headHeight = 28;
const widestRow = 12 * (nodeWidth + gapX);  // wider layers go on in the next row
const laneGap = 110;

/** The edges between shown items of a lane: [from, to], once each. */
function shownEdges(lane) {
  const edges = new Map();
  for (const leaf of lane.leaves)
    for (const value of leaf.node.operands) {
      const source = lane.leafOf.get(value.node);
      if (!source) continue;
      const from = shownFor(source), to = shownFor(leaf);
      if (from !== to) edges.set(`${from.id}\n${to.id}`, [from, to]);
    }
  return [...edges.values()];
}

/** Adds to each open scope the edges between its children that [from, to] come down to. */
function liftEdges(edges) {
  const pathOf = item => {
    const path = [];
    for (; item; item = item.parent) path.unshift(item);
    return path;
  };
  for (const [from, to] of edges) {
    const a = pathOf(from), b = pathOf(to);
    let depth = 0;
    while (a[depth] === b[depth]) ++depth;
    const scope = a[depth - 1];
    (scope.inner ||= []).push([a[depth], b[depth]]);
  }
}

/** Gives items w, h and, relative to their scope, x, y. */
function layoutScope(scope) {
  for (const child of scope.children) {
    if (child.open) {
      layoutScope(child);
    } else {
      child.w = nodeWidth;
      child.h = nodeHeight;
    }
    child.layer = 0;
    child.before = new Set();
  }
  const order = new Map(scope.children.map((child, i) => [child, i]));
  for (const [from, to] of scope.inner || [])
    if (order.get(from) < order.get(to)) to.before.add(from);
  for (const child of scope.children)
    for (const source of child.before) child.layer = Math.max(child.layer, source.layer + 1);

  let y = headHeight;
  for (const row of rowsOf(scope.children)) {
    placeRow(row);
    for (const child of row) child.y = y;
    y += Math.max(...row.map(child => child.h)) + gapY;
  }
  const left = Math.min(...scope.children.map(child => child.x));
  for (const child of scope.children) child.x += padding - left;
  scope.w = Math.max(nodeWidth, ...scope.children.map(child => child.x + child.w + padding));
  scope.h = y - gapY + padding;
  if (scope.upward)
    for (const child of scope.children)
      child.y = scope.h + headHeight - padding - child.y - child.h;
  delete scope.inner;
}

/** Layers, those that are too wide in several rows. */
function rowsOf(children) {
  const layers = [];
  for (const child of children) (layers[child.layer] ||= []).push(child);
  const rows = [];
  for (const layer of layers) {
    let width = Infinity;
    for (const child of layer) {
      if (width + child.w > widestRow) {
        rows.push([]);
        width = 0;
      }
      rows.at(-1).push(child);
      width += child.w + gapX;
    }
  }
  return rows;
}

/** As near the middle of what each reads as its neighbours allow. */
function placeRow(row) {
  const wished = new Map(row.map(child => {
    const sources = [...child.before];
    const middle = sources.reduce((sum, source) => sum + source.x + source.w / 2, 0);
    return [child, sources.length ? middle / sources.length : 0];
  }));
  row.sort((a, b) => wished.get(a) - wished.get(b));  // stable: else in order of execution
  let end = -Infinity;
  for (const child of row) {
    child.x = Math.max(wished.get(child) - child.w / 2, end);
    end = child.x + child.w + gapX;
  }
  const error = row.reduce((sum, child) => sum + child.x + child.w / 2 - wished.get(child), 0);
  for (const child of row) child.x -= error / row.length;
}

/** From positions in the scope to positions in the drawing. */
function moveTo(item, x, y) {
  item.x = x;
  item.y = y;
  if (item.open)
    for (const child of item.children) moveTo(child, x + child.x, y + child.y);
}

/**
 * Lays out lanes beside each other, and returns the size of all. The gradient runs upwards, so that
 * its nodes stand about where their forward nodes do.
 */
function layoutLanes(lanes) {
  for (const lane of lanes) {
    lane.edges = shownEdges(lane);
    liftEdges(lane.edges);
    layoutScope(lane.root);
  }
  let x = 0;
  for (const {root} of lanes) {
    moveTo(root, x, 0);
    x += root.w + laneGap;
  }
  return {w: x - laneGap, h: Math.max(...lanes.map(lane => lane.root.h))};
}
