'use strict';

// data.js - What the compiler wrote (tools/HtmlReport.h), decoded, and the tree of its names.

const report = JSON.parse(document.getElementById('data').textContent);

const byId = id => document.getElementById(id);

/** An element with attributes, a text or children. Texts are never parsed: names stay names. */
function element(tag, attributes = {}, ...children) {
  const svg = ['g', 'rect', 'text', 'path', 'title'].includes(tag);
  const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) :
                     document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** "940 B", "12.3 KiB": as the text reports have it. */
function sizeText(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < units.length; ++unit) bytes /= 1024;
  return `${bytes.toFixed(1)} ${units[unit]}`;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/** The programs of a step in the order in which the memory plan counts their entries. */
const programOrder = ['init', 'micro', 'update', 'evaluate', 'infer'];

function decodeFunction(coded) {
  const text = i => report.strings[i];
  const values = [];
  const nodes = coded.nodes.map(([op, pass, onnx, reason, operands, results, tensors], index) => {
    const node = {
      index,
      op: text(op),
      pass: text(pass),
      onnx: onnx.map(text),
      reason: text(reason),
      operands,
      tensors: tensors.map(([role, name]) => ({role: text(role), name: text(name)})),
    };
    node.results = results.map(type => {
      values.push({type: report.types[type][0], bytes: report.types[type][1], node});
      return values.length - 1;
    });
    return node;
  });
  const decoded = {name: coded.name, nodes, values};
  for (const node of nodes) {
    node.function = decoded;
    node.operands = node.operands.map(i => values[i]);
    node.results = node.results.map(i => values[i]);
    node.bytes = node.results.reduce((sum, value) => sum + value.bytes, 0);
    node.precision = precisionOf(node.results) || precisionOf(node.operands) || 'other';
    node.reads = precisionOf(node.operands) || node.precision;
  }
  return decoded;
}

/** The narrowest float type among values, or null. */
function precisionOf(values) {
  const found = values.map(value => value.type.split('x').pop());
  return ['bf16', 'f16', 'f32', 'f64'].find(type => found.includes(type)) || null;
}

/** The functions of a phase, decoded once. Emit has those of memory, whose entries it emits. */
function functionsOf(phase) {
  if (!phase.decoded) phase.decoded = phase.functions.map(decodeFunction);
  return phase.decoded;
}

/**
 * What is named after a parameter (the sum of its gradient, a copy in another layout) belongs to
 * the ONNX node that reads it, and is found under both names.
 */
function addReaders(phases) {
  const readers = new Map();
  for (const {nodes} of functionsOf(phases[0]))
    for (const node of nodes)
      if (node.pass === 'forward' && node.onnx.length)
        for (const {role, name} of node.tensors)
          if (['parameter', 'copy'].includes(role) && !readers.has(name))
            readers.set(name, node.onnx[0]);
  for (const phase of phases)
    for (const {nodes} of functionsOf(phase))
      for (const node of nodes)
        if (readers.has(node.onnx[0])) node.onnx.unshift(readers.get(node.onnx[0]));
}

/** What can be drawn of a phase: [name, its lanes], a lane being [title, function, pass]. */
function programsOf(phase) {
  const functions = Object.fromEntries(functionsOf(phase).map(each => [each.name, each]));
  const {micro, update} = functions;
  const programs = [];
  if (micro) {
    const lanes = [['Forward', micro, 'forward'], ['Gradient', micro, 'gradient']];
    if (update) lanes.push(['Update', update, 'update']);
    programs.push(['training step', lanes]);
  }
  for (const name of ['forward', 'evaluate', 'infer', 'init'])
    if (functions[name])
      programs.push([name, [[name, functions[name], name === 'init' ? 'update' : 'forward']]]);
  return programs;
}

/** Why an op has its types, for who has not read docs/precision.md. */
const reasons = {
  category: 'category: autocast runs this kind of op in this type',
  policy: 'policy: it follows from the precision mode, or from the types of the operands',
  pinned: 'pinned: --pin asks for this type',
  widened:
      'widened: operands of several types, or a constant beyond 16 bits, meet in the wider one',
  target: 'target: the target has no such product in 16 bits',
};

/** The reasons that phases gave for an ONNX node; entries have none of their own. */
function reasonsFor(name) {
  const found = new Map();
  for (const phase of report.phases)
    for (const each of functionsOf(phase))
      if (['forward', 'micro'].includes(each.name))
        for (const node of each.nodes)
          if (node.reason && node.onnx.includes(name)) found.set(`${node.pass} ${node.op}`, node);
  return [...found.values()];
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

/**
 * The nodes of a lane as a tree of items: scopes are the parts of ONNX names, the innermost one a
 * node of the file, which may be several operations. An item is {id, label, parent, children} or, a
 * leaf, {id, label, parent, node}; `nodes` are all below it.
 */
function buildTree(laneName, nodes) {
  const root =
      {id: laneName, label: laneName, parent: null, children: [], nodes: [], scopes: new Map()};
  for (const node of nodes) {
    // A fused entry stands where its first node does.
    const parts = (node.onnx[0] || '').split('/').filter(part => part);
    let group = root;
    group.nodes.push(node);
    parts.forEach((part, depth) => {
      let inner = group.scopes.get(part);
      if (!inner) {
        inner = {
          id: `${group.id}/${part}`,
          label: part,
          parent: group,
          children: [],
          nodes: [],
          scopes: new Map()
        };
        group.scopes.set(part, inner);
        group.children.push(inner);
      }
      group = inner;
      group.isNode = depth === parts.length - 1;
      group.nodes.push(node);
    });
    group.children.push(
        {id: `${group.id}#${node.index}`, label: node.op, parent: group, node, nodes: [node]});
  }
  root.children = root.children.map(compress);
  return root;
}

/** A scope with one thing in it is that thing, under both names. */
function compress(item) {
  if (item.node) return item;
  item.children = item.children.map(compress);
  if (item.children.length > 1) return item;
  const [only] = item.children;
  if (only.node && item.isNode) {
    only.id = item.id;
    only.label = item.label;
  } else {
    only.label = `${item.label}/${only.label}`;
  }
  only.parent = item.parent;
  return only;
}

/** All items that are not leaves. */
function groupsOf(item) {
  return item.node ? [] : [item, ...item.children.flatMap(groupsOf)];
}

function isWithin(item, scope) {
  for (; item; item = item.parent)
    if (item === scope) return true;
  return false;
}

/** The item that is drawn for a leaf: itself, or the outermost closed scope that it is in. */
function shownFor(item) {
  let shown = item;
  for (let group = item.parent; group; group = group.parent)
    if (!group.open) shown = group;
  return shown;
}
