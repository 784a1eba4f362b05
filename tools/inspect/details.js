'use strict';

// details.js - What is said of a node: in the panel when it is chosen, in short under the pointer.

const tip = byId('tip');

function showTip(lines, x, y) {
  tip.replaceChildren(...lines.map((line, i) => element(i ? 'div' : 'b', {}, line)));
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 16, innerHeight - tip.offsetHeight - 8))}px`;
}

function hideTip() {
  tip.hidden = true;
}

const typesText = values => values.map(value => value.type).join(', ') || 'nothing';

/** What an item is called in full: the ONNX node or scope, or the operation where it has none. */
function nameOf(item) {
  const names = item.node ? item.node.onnx : item.isNode ? item.nodes[0].onnx : [];
  if (item.node && item.node.pass === 'argument') return item.node.tensors[0].name;
  if (names.length) return item.node ? names.join(', ') : names[0];
  return item.node ? item.node.op : item.id.replace(/^[^/]*/, '');
}

function tipFor(item) {
  if (!item.node) {
    return [nameOf(item), summaryOf(item.nodes), 'double-click to open'];
  }
  const {node} = item;
  const lines = [nameOf(item), `${node.op}, ${node.pass}`];
  if (node.operands.length) lines.push(`reads ${fitted(typesText(node.operands), 80, 1)}`);
  lines.push(`gives ${fitted(typesText(node.results), 80, 1)}, ${sizeText(node.bytes)}`);
  if (node.reason) lines.push(reasons[node.reason] || node.reason);
  return lines;
}

/** How many nodes there are of each type, in order of the types' names. */
function precisionsOf(nodes) {
  const counts = new Map();
  for (const node of nodes) counts.set(node.precision, (counts.get(node.precision) || 0) + 1);
  return [...counts].sort();
}

function summaryOf(nodes) {
  const bytes = nodes.reduce((sum, node) => sum + node.bytes, 0);
  return `${nodes.length} operations, ` +
      `${precisionsOf(nodes).map(([each, count]) => `${count} in ${each}`).join(', ')}; ` +
      `their results take ${sizeText(bytes)}`;
}

//===----------------------------------------------------------------------===//
// Panel
//===----------------------------------------------------------------------===//

const mostListed = 60;  // operations of one pass in the panel

function showDetails(item) {
  const panel = byId('details');
  if (!item) {
    panel.replaceChildren(element(
        'p', {class: 'hint'},
        'Choose a node: its gradient and its update light up, and its types and their reasons are ' +
            'here. Double-click opens and closes a scope; drag moves, the wheel zooms, / searches.'));
    return;
  }
  const children = [element('h2', {}, nameOf(item))];
  if (!item.node) children.push(element('p', {class: 'hint'}, summaryOf(item.nodes)));
  if (!item.node || item.node.pass !== 'argument') {
    for (const pass of ['forward', 'gradient', 'update']) {
      const nodes =
          [...new Set([...item.nodes, ...graph.linked])].filter(node => node.pass === pass);
      if (nodes.length) children.push(...passSection(pass, nodes, item));
    }
  } else {
    const [value] = item.node.results;
    children.push(element('p', {}, `${item.node.op} ${value.type}, ${sizeText(value.bytes)}`));
  }
  panel.replaceChildren(...children);
}

function passSection(pass, nodes, item) {
  const own = new Set(item.nodes);
  const list = element('ul');
  for (const node of nodes.slice(0, mostListed)) list.append(operationLine(node, own.has(node)));
  const more = nodes.length - mostListed;
  if (more > 0) list.append(element('li', {class: 'hint'}, `and ${more} more`));
  const said =
      nodes.some(node => node.reason) || pass === 'update' ? [] : earlierReasons(nodes, pass);
  return [element('h3', {}, `${pass[0].toUpperCase()}${pass.slice(1)}`), list, ...said];
}

function operationLine(node, isOwn) {
  const line = element(
      'li', {class: `p-${node.precision}${isOwn ? ' own' : ''}`}, element('b', {}, node.op),
      ` ${typesText(node.operands)} → ${typesText(node.results)}, `, sizeText(node.bytes));
  if (node.reason)
    line.append(element('div', {class: 'reason'}, reasons[node.reason] || node.reason));
  const cost = costOf(node);
  if (cost) line.append(element('div', {class: 'reason'}, cost));
  const named = node.tensors.filter(({role}) => role !== 'record' && role !== 'state');
  if (named.length)
    line.append(element(
        'div', {class: 'reason'},
        named.map(({role, name}) => role === name ? role : `${role} ${name}`).join(', ')));
  return line;
}

/** Entries have their types from operations of earlier phases, which said why. */
function earlierReasons(nodes, pass) {
  const names = new Set(nodes.flatMap(node => node.onnx));
  const found = [...names].flatMap(reasonsFor).filter(node => node.pass === pass);
  const texts = new Set(found.map(node => `${node.op} ${node.results[0].type}: ${node.reason}`));
  if (!texts.size) return [];
  const list = element('ul');
  for (const text of [...texts].slice(0, mostListed))
    list.append(element('li', {class: 'reason'}, text));
  return [element('div', {class: 'hint'}, 'as the phase precision decided:'), list];
}
