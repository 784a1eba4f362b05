'use strict';

// numbers.js - What --probe has counted in a run (docs/precision.md), from its log: the file is
// read here and goes nowhere.

/** Chooses the first of a row's nodes in the graph that the page opens with. */
const numbers = makeTable('tensors', row => {
  showView('graph');
  showPhase(firstPhase());
  const item = itemWith(row.nodes ? row.nodes.split(', ') : []);
  if (item) reveal(item);
});

const shareText = share => `${(share * 100).toFixed(share > 0 && share < 0.001 ? 3 : 1)} %`;

numbers.columns = [
  ['tensor', row => row.tensor || row.parameter, text => text],
  ['pass', row => row.pass, text => text],
  ['type', row => row.type, text => text],
  ['elements', row => row.elements, countText],
  ['zeros', row => row.zeros, shareText],
  ['subnormals', row => row.subnormals, shareText],
  ['saturated', row => row.saturated, shareText],
  ['non-finite', row => row.non_finite, shareText],
  ['largest', row => row.largest, value => value.toPrecision(4)],
  ['update / weights', row => row.update_ratio, value => value.toExponential(2)],
  ['nodes', row => row.nodes, text => text],
];

/** A row for each tensor and parameter, with the largest number of all steps in each column. */
function readLog(text) {
  const rows = new Map(), steps = new Set();
  text.split('\n').forEach((line, i) => {
    if (!line) return;
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      throw new Error(`line ${i + 1} is no JSON`);
    }
    if (event.event !== 'probe') return;
    event.update_ratio &&= Number(event.update_ratio);  // "Infinity", from weights of zero
    steps.add(event.step);
    const key = event.tensor || event.parameter;
    const row = rows.get(key);
    if (!row) return rows.set(key, event);
    for (const [name, value] of Object.entries(event))
      if (typeof value === 'number') row[name] = Math.max(row[name], value);
  });
  if (!rows.size) throw new Error('it has no events of --probe');
  numbers.rows = [...rows.values()];
  return `the largest share in any of ${steps.size} steps`;
}

byId('log').addEventListener('change', async event => {
  const [file] = event.target.files;
  if (!file) return;
  numbers.rows = [];
  let said;
  try {
    said = readLog(await file.text());
  } catch (error) {
    said = `${file.name}: ${error.message}`;
  }
  byId('probed').textContent = said;
  numbers.draw();
});
