'use strict';

// search.js - Finding a node by its name, its operation or its parameter.

const mostFound = 12;

/** What was found last, and which of it the keyboard is at. */
const finder = {
  found: [],
  marked: 0
};

/** Items whose ONNX name, operation or parameter has the text in it, the closest first. */
function search(text) {
  const wanted = text.toLowerCase();
  const found = [];
  for (const item of graph.items.values()) {
    if (!item.parent) continue;
    const name = item.id.replace(/^[^/#]*/, '').replace(/#.*$/, '') || item.label;
    const others = item.node ?
        [item.node.op, ...item.node.onnx, ...item.node.tensors.map(each => each.name)] :
        [];
    const place = name.toLowerCase().lastIndexOf(wanted);
    if (place < 0 && !others.some(each => each.toLowerCase().includes(wanted))) continue;
    const rest = place < 0 ? 1000 : name.length - place - wanted.length;
    found.push({item, name, rank: rest + (item.node ? 0.5 : 0)});
  }
  return found.sort((a, b) => a.rank - b.rank).slice(0, mostFound);
}

function showFound() {
  const text = byId('search').value.trim();
  finder.found = text ? search(text) : [];
  finder.marked = 0;
  markFound();
}

function markFound() {
  const list = byId('found');
  list.replaceChildren(...finder.found.map(({item, name}, i) => {
    const line = element(
        'li', {role: 'option', 'aria-selected': i === finder.marked}, element('b', {}, name),
        ` ${item.lane}${item.node ? `, ${item.node.op}` : ''}`);
    line.addEventListener('mousedown', () => takeFound(i));
    return line;
  }));
  list.hidden = !finder.found.length;
  byId('search').setAttribute('aria-expanded', !list.hidden);
}

function takeFound(i) {
  const found = finder.found[i];
  if (!found) return;
  byId('found').hidden = true;
  showView('graph');
  reveal(found.item);
  svg.focus({preventScroll: true});
}

byId('search').addEventListener('input', showFound);
byId('search').addEventListener('focus', showFound);
byId('search').addEventListener('blur', () => byId('found').hidden = true);
byId('search').addEventListener('keydown', event => {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (step && finder.found.length) {
    finder.marked = (finder.marked + step + finder.found.length) % finder.found.length;
    markFound();
    event.preventDefault();
  } else if (event.key === 'Enter') {
    takeFound(finder.marked);
  } else if (event.key === 'Escape') {
    svg.focus();
  }
  event.stopPropagation();
});
