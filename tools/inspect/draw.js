'use strict';

// draw.js - What is in sight of the lanes, as elements of the page.

const mostEdges = 1500;
const textScale = 0.4;  // below it, names are not drawn

/** Makes the page's part of what is in sight anew. */
function draw() {
  const {scale} = graph;
  world.setAttribute('transform', `translate(${graph.x} ${graph.y}) scale(${scale})`);
  const sight = {left: -graph.x / scale, top: -graph.y / scale};
  sight.right = sight.left + svg.clientWidth / scale;
  sight.bottom = sight.top + svg.clientHeight / scale;
  const inSight = (left, top, right, bottom) =>
      left < sight.right && right > sight.left && top < sight.bottom && bottom > sight.top;
  const scopes = element('g'), edges = element('g', {class: 'edges'}), boxes = element('g');
  const visit = item => {
    if (!inSight(item.x, item.y, item.x + item.w, item.y + item.h)) return;
    if (!item.open) return boxes.append(drawBox(item, scale));
    scopes.append(drawScope(item, scale));
    item.children.forEach(visit);
  };
  for (const {root} of graph.lanes) visit(root);

  const chosen = graph.chosen && shownFor(graph.chosen);
  for (const lane of graph.lanes)
    for (const [from, to] of lane.edges) {
      const isChosen = from === chosen || to === chosen;
      if (!isChosen && (scale < 0.3 || edges.childElementCount >= mostEdges)) continue;
      const left = Math.min(from.x, to.x), right = Math.max(from.x + from.w, to.x + to.w);
      const top = Math.min(from.y, to.y), bottom = Math.max(from.y + from.h, to.y + to.h);
      if (inSight(left, top, right, bottom))
        edges.append(drawEdge(from, to, lane.root.upward, isChosen));
    }
  world.replaceChildren(scopes, edges, ...(chosen ? [drawLinks(chosen)] : []), boxes);
}

function drawEdge(from, to, upward, isChosen) {
  const x1 = from.x + from.w / 2, x2 = to.x + to.w / 2;
  const y1 = upward ? from.y : from.y + from.h, y2 = upward ? to.y + to.h : to.y;
  const way = upward ? -1 : 1, length = (y2 - y1) * way;
  // An edge past other layers goes around them.
  const isLong = length > 1.5 * (nodeHeight + gapY) && Math.abs(x2 - x1) < nodeWidth;
  const bow = isLong ? nodeWidth * 0.85 : 0;
  const bend = way * Math.max(gapY / 2, Math.min(Math.abs(length) / 2, 90));
  return element('path', {
    d: `M${x1} ${y1}C${x1 + bow} ${y1 + bend} ${x2 + bow} ${y2 - bend} ${x2} ${y2}`,
    class: isChosen ? 'chosen' :
        isLong      ? 'long' :
                      '',
    'marker-end': 'url(#arrow)'
  });
}

/** From the chosen item to those of other lanes that belong to it. */
function drawLinks(chosen) {
  const links = element('g', {class: 'links'});
  const shown = new Set();
  for (const lane of graph.lanes)
    for (const leaf of lane.leaves)
      if (lane.title !== chosen.lane && graph.linked.has(leaf.node)) shown.add(shownFor(leaf));
  for (const item of [...shown].slice(0, 60)) {
    const isRight = item.x > chosen.x;
    const x1 = isRight ? chosen.x + chosen.w : chosen.x, x2 = isRight ? item.x : item.x + item.w;
    const y1 = chosen.y + chosen.h / 2, y2 = item.y + item.h / 2, middle = (x1 + x2) / 2;
    links.append(element('path', {d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`}));
  }
  return links;
}

/** A text cut to what `width` units hold; the middle of a name says least. */
function fitted(text, width, unit) {
  const most = Math.floor(width / unit);
  if (text.length <= most) return text;
  const head = Math.floor(most * 0.6);
  return `${text.slice(0, head - 1)}…${text.slice(text.length - (most - head))}`;
}

function stateOf(item) {
  if (item === graph.chosen) return ' chosen';
  const isLinked = item.nodes.some(node => graph.linked.has(node));
  return isLinked && item.parent && !isWithin(item, graph.chosen) ? ' linked' : '';
}

function drawScope(item, scale) {
  const isLane = !item.parent;
  const scope = element(
      'g', {class: `scope${isLane ? ' lane' : ''}${stateOf(item)}`, 'data-id': item.id},
      element('rect', {x: item.x, y: item.y, width: item.w, height: item.h, rx: 8}));
  if (scale < 0.25 && !isLane) return scope;
  const size = isLane ? Math.min(13 / Math.min(scale, 1), 40) : 12;
  const text = `${item.label}${isLane && item.upward ? ' ↑' : isLane ? ' ↓' : ''}`;
  scope.append(element(
      'text', {
        x: item.x + padding,
        y: isLane ? item.y - 8 : item.y + 18,
        class: 'head',
        style: `font-size:${size}px`
      },
      isLane ? text : `▾ ${fitted(text, item.w - 30, 7)}`));
  return scope;
}

/**
 * A node, or a closed scope: its colour is the type of the results, its edge that of the operands.
 */
function drawBox(item, scale) {
  const {x, y, w, h} = item;
  const node = item.node || item.nodes.at(-1);
  const counts = precisionsOf(item.nodes);
  const precision = counts.length > 1 ? 'mixed' : node.precision;
  const isInput = node.pass === 'argument';
  const box = element(
      'g',
      {class: `box p-${precision}${isInput ? ' input' : ''}${stateOf(item)}`, 'data-id': item.id});
  if (!item.node)
    box.append(element('rect', {class: 'behind', x: x + 4, y: y + 4, width: w, height: h, rx: 6}));
  box.append(element('rect', {class: 'face', x, y, width: w, height: h, rx: isInput ? h / 2 : 6}));
  if (item.node && node.reads !== precision)
    box.append(element(
        'rect', {class: `stripe p-${node.reads}`, x: x + 1, y: y + 6, width: 5, height: h - 12}));
  if (counts.length > 1) {
    let left = x + 8;
    for (const [each, count] of counts) {
      const width = (w - 16) * count / item.nodes.length;
      box.append(
          element('rect', {class: `part p-${each}`, x: left, y: y + h - 7, width, height: 4}));
      left += width;
    }
  }
  if (scale < textScale) return box;
  const below = !item.node && (!item.isNode || counts.length > 1) ?
      `${item.nodes.length} operations` :
      isInput ? `${node.op}  ${node.results[0].type}` :
                (node.results[0] || {type: ''}).type;
  const title = isInput ? node.tensors[0].name : item.label;
  box.append(
      element(
          'text', {x: x + (isInput ? 18 : 12), y: y + 19, class: 'title'},
          `${item.node ? '' : '▸ '}${fitted(title, w - (item.node ? 22 : 36), 7)}`),
      element(
          'text', {x: x + (isInput ? 18 : 12), y: y + 34, class: 'sub'}, fitted(below, w - 22, 6)));
  return box;
}
