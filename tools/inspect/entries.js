'use strict';

// entries.js - What each entry of a step costs (docs/profile.md).

const table = makeTable('rows', entry => showEntry(entry.program, entry.number));

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
