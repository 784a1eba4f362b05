'use strict';

// entries.js - What each entry of a step costs (docs/profile.md): a table of which only the rows in
// sight are in the page.

const table = {
  rows: [],
  columns: [],
  sortedBy: null,
  falling: true
};
const rowHeight = 26;

/** "940", "12.3 k": as the text report has it. */
function countText(count) {
  if (count < 1000) return `${count}`;
  const units = 'kMGTPE';
  let unit = 0;
  for (count /= 1000; count >= 1000 && unit + 1 < units.length; ++unit) count /= 1000;
  return `${count.toFixed(1)} ${units[unit]}`;
}

function timeText(seconds) {
  if (seconds < 1e-6) return `${(seconds * 1e9).toFixed(1)} ns`;
  return seconds < 1e-3 ? `${(seconds * 1e6).toFixed(1)} µs` : `${(seconds * 1e3).toFixed(1)} ms`;
}

/** A column is [title, value of an entry, its text]. */
function columnsOf(profile) {
  const columns = [
    ['program', entry => entry.program, text => text],
    ['#', entry => entry.number, String],
    ['entry', entry => entry.name, text => text],
    ['read', entry => entry.bytes_read, sizeText],
    ['written', entry => entry.bytes_written, sizeText],
    ['flops', entry => entry.flops, countText],
  ];
  if (profile.target !== 'cpu') {
    columns.push(
        ['blocks', entry => entry.blocks, String], ['threads', entry => entry.threads, String],
        ['registers', entry => entry.registers, String],
        ['shared', entry => entry.shared_bytes, sizeText],
        ['spills', entry => entry.spill_bytes, sizeText]);
    for (const device of Object.keys(profile.step.time || {}))
      columns.push([device, entry => entry.time[device], timeText]);
  }
  columns.push(['nodes', entry => entry.nodes, text => text]);
  return columns;
}

function startEntries() {
  const {profile} = report;
  table.columns = columnsOf(profile);
  table.rows = profile.programs.flatMap(
      ({program, entries}) => entries.map((entry, number) => ({...entry, program, number})));
  const {step} = profile;
  byId('cost').textContent = `a step on ${profile.target}: ${step.entries} entries, ` +
      `${sizeText(step.bytes_read)} read, ${sizeText(step.bytes_written)} written, ` +
      `${countText(step.flops)} flops` +
      Object.entries(step.time || {})
          .map(([device, time]) => `; ${device} ≥ ${timeText(time)}`)
          .join('') +
      (profile.note ? ` (${profile.note})` : '');
}

/** What the profile says of a node of the phases memory and emit; "" if there is none. */
function costOf(node) {
  if (!report.profile || node.pass === 'argument') return '';
  if (!functionsOf(report.phases.find(each => each.name === 'memory')).includes(node.function))
    return '';
  const program = report.profile.programs.find(each => each.program === node.function.name);
  const before = node.function.nodes.filter(each => each.pass === 'argument').length;
  const entry = program.entries[node.index - before];
  return `${sizeText(entry.bytes_read)} read, ${sizeText(entry.bytes_written)} written, ` +
      `${countText(entry.flops)} flops`;
}

/** Sorted by one column, empty cells last; the other way round the second time. */
function sortBy(column) {
  table.falling = table.sortedBy === column ? !table.falling : true;
  table.sortedBy = column;
  const [, valueOf] = table.columns[column];
  table.rows.sort((a, b) => {
    const x = valueOf(a), y = valueOf(b);
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
    const order = typeof x === 'string' ? -x.localeCompare(y) : x - y;
    return table.falling ? -order : order;
  });
  drawEntries();
}

function drawEntries() {
  const box = byId('rows');
  const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - 5);
  const last = Math.min(table.rows.length, first + Math.ceil(box.clientHeight / rowHeight) + 10);
  const head = element('tr');
  table.columns.forEach(([title, valueOf], i) => {
    const isNumber = table.rows.some(entry => typeof valueOf(entry) === 'number');
    const cell = element(
        'th', {class: isNumber ? 'number' : ''}, title,
        table.sortedBy === i ? (table.falling ? ' ↓' : ' ↑') : '');
    cell.addEventListener('click', () => sortBy(i));
    head.append(cell);
  });
  const body = element('tbody');
  const spacer = rows => element('tr', {style: `height:${rows * rowHeight}px`});
  body.append(spacer(first));
  for (const entry of table.rows.slice(first, last)) {
    const row = element('tr');
    row.addEventListener('click', () => showEntry(entry.program, entry.number));
    for (const [, valueOf, text] of table.columns) {
      const value = valueOf(entry);
      row.append(element(
          'td', {class: typeof value === 'number' ? 'number' : '', title: value ?? ''},
          value === undefined ? '' : text(value)));
    }
    body.append(row);
  }
  body.append(spacer(table.rows.length - last));
  const {scrollTop, scrollLeft} = box;
  box.replaceChildren(element('table', {}, element('thead', {}, head), body));
  box.scrollTop = scrollTop;
  box.scrollLeft = scrollLeft;
}
