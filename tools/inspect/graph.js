'use strict';

// graph.js - Lanes of scopes and nodes: what is open, chosen and linked, and where the eye is.

const svg = byId('canvas'), world = byId('world');

/** `open` remembers scopes by id, across phases; `chosen` is an item, `linked` are nodes. */
const graph = {
  lanes: [],
  items: new Map(),
  open: new Map(),
  chosen: null,
  linked: new Set(),
  scale: 1,
  x: 0,
  y: 0,
  size: {w: 1, h: 1},
  phase: null
};

const smallestScale = 0.16, largestScale = 2.5;
const startBudget = 36;     // shown items of a lane before anybody opened a scope
const legibleScale = 0.68;  // below it, they are hard to read

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/** Shows these lanes of a phase: [title, function, pass]. */
function showLanes(phase, lanes) {
  graph.phase = phase;
  graph.items.clear();
  graph.lanes = lanes.map(([title, each, pass], number) => {
    const isInput = node => number === 0 && node.pass === 'argument' && !!node.tensors[0] &&
        ['input', 'label'].includes(node.tensors[0].role);
    const root = buildTree(title, each.nodes.filter(node => node.pass === pass || isInput(node)));
    const groups = groupsOf(root);
    for (const group of groups) group.upward = pass === 'gradient';
    const leaves = groups.flatMap(group => group.children.filter(child => child.node));
    for (const item of [...groups, ...leaves]) {
      item.lane = title;
      graph.items.set(item.id, item);
    }
    return {title, root, leaves, leafOf: new Map(leaves.map(leaf => [leaf.node, leaf]))};
  });
  graph.lanes = graph.lanes.filter(lane => lane.leaves.length);
  for (const lane of graph.lanes) openFirst(lane.root);
  layout();
}

/** Opens what was open before or, where nobody has chosen, as many whole levels as fit the eye. */
function openFirst(root) {
  root.open = true;
  let shown = root.children.length;
  let level = root.children.filter(child => !child.node);
  while (level.length) {
    const wanted = level.filter(group => !group.isNode);
    const more = wanted.reduce((sum, group) => sum + group.children.length - 1, 0);
    const fits = shown + more <= startBudget || shown === 1;
    for (const group of level)
      group.open = graph.open.get(group.id) ?? (fits && wanted.includes(group));
    if (fits) shown += more;
    level = level.flatMap(group => group.open ? group.children.filter(child => !child.node) : []);
  }
}

function layout() {
  graph.size = layoutLanes(graph.lanes);
  draw();
}

function setOpen(item, open) {
  if (item.node || !item.parent) return;
  const anchor = {x: item.x, y: item.y};
  item.open = open;
  graph.open.set(item.id, open);
  if (open) openChildren(item);
  graph.size = layoutLanes(graph.lanes);
  graph.x += (anchor.x - item.x) * graph.scale;  // it stays under the pointer
  graph.y += (anchor.y - item.y) * graph.scale;
  draw();
}

/** What opens with a scope: what was open in it before. */
function openChildren(group) {
  for (const child of group.children)
    if (!child.node) {
      child.open = graph.open.get(child.id) ?? false;
      if (child.open) openChildren(child);
    }
}

function setAllOpen(open) {
  for (const {root} of graph.lanes)
    for (const group of groupsOf(root))
      if (group.parent) {
        group.open = open;
        graph.open.set(group.id, open);
      }
  layout();
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/** The parameters and flat regions that a node has to do with. */
function memoryOf(node) {
  const keys = new Set();
  for (const {role, name} of node.tensors)
    if (role === 'region') {
      keys.add(`region ${name}`);
    } else if (['parameter', 'copy', 'gradient'].includes(role)) {
      keys.add(`tensor ${name}`);
      for (const [region, tensors] of Object.entries(graph.phase.regions))
        if (tensors.some(i => report.strings[i] === name)) keys.add(`region ${region}`);
    }
  return keys;
}

/**
 * All nodes in sight that belong to those of an item: of the same ONNX nodes, or, between the
 * update and the rest, with a parameter in common.
 */
function linkedTo(item) {
  const names = new Set(item.nodes.flatMap(node => node.onnx));
  const inUpdate = item.nodes.some(node => node.pass === 'update');
  const nodes = graph.lanes.flatMap(lane => lane.leaves.map(leaf => leaf.node));
  const linked = new Set(nodes.filter(node => node.onnx.some(name => names.has(name))));
  const memory = new Set([...item.nodes, ...linked].flatMap(node => [...memoryOf(node)]));
  for (const node of nodes)
    if ((node.pass === 'update') !== inUpdate && [...memoryOf(node)].some(key => memory.has(key)))
      linked.add(node);
  return linked;
}

function choose(item) {
  graph.chosen = item;
  graph.linked = item ? linkedTo(item) : new Set();
  showDetails(item);
  draw();
}

/** Opens the scopes around an item, brings it into sight and chooses it. */
function reveal(item) {
  for (let group = item.parent; group && group.parent; group = group.parent) {
    group.open = true;
    graph.open.set(group.id, true);
  }
  graph.size = layoutLanes(graph.lanes);
  graph.scale = Math.max(graph.scale, 0.8);
  graph.x = svg.clientWidth / 2 - (item.x + item.w / 2) * graph.scale;
  graph.y = svg.clientHeight / 2 - (item.y + Math.min(item.h, 200) / 2) * graph.scale;
  choose(item);
}

//===----------------------------------------------------------------------===//
// Zoom
//===----------------------------------------------------------------------===//

/** Zooms about a point of the stage; what is there stays there. */
function zoom(factor, x = svg.clientWidth / 2, y = svg.clientHeight / 2) {
  const scale = Math.min(largestScale, Math.max(smallestScale, graph.scale * factor));
  graph.x = x - (x - graph.x) * scale / graph.scale;
  graph.y = y - (y - graph.y) * scale / graph.scale;
  graph.scale = scale;
  draw();
}

/** Everything in sight, or, where names would be too small to read, the top of it. */
function fit(smallest = smallestScale) {
  const margin = 36, {w, h} = graph.size;
  const across = (svg.clientWidth - 2 * margin) / w, down = (svg.clientHeight - 2 * margin) / h;
  graph.scale = Math.min(1.1, Math.max(smallest, Math.min(across, down)));
  graph.x = Math.max(margin, (svg.clientWidth - w * graph.scale) / 2);
  graph.y = Math.max(margin, (svg.clientHeight - h * graph.scale) / 2);
  draw();
}
