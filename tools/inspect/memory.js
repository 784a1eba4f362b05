'use strict';

// memory.js - The memory plan: x is the entry, y the offset, a rectangle a slice from the entry
// that makes it to the last that reads it.

const timeline = {
  slices: [],
  programs: [],
  busiest: 0,
  range: 'arena',
  chosen: null
};

/** The entries of programs, numbered as the plan numbers them: one number is a program's end. */
function numberPrograms() {
  const phase = report.phases.find(each => each.name === 'memory');
  const functions = functionsOf(phase);
  let first = 0;
  for (const name of programOrder) {
    const found = functions.find(each => each.name === name);
    if (!found) continue;
    const entries = found.nodes.filter(node => node.pass !== 'argument');
    entries.forEach((node, i) => node.entry = first + i);
    timeline.programs.push({name, first, entries, end: first + entries.length + 1});
    first += entries.length + 1;
  }
}

/** "micro/18" of the number that the plan has for it. */
function entryText(number) {
  const program = timeline.programs.findLast(each => each.first <= number);
  return program ? `${program.name}/${number - program.first}` : `${number}`;
}

function startMemory() {
  const {memory} = report;
  numberPrograms();
  timeline.slices = memory.slices;
  timeline.end = timeline.programs.at(-1)?.end || 1;
  timeline.arena = memory.slices.filter(each => ['activations', 'workspace'].includes(each.class));
  const isLive = new Set(memory.live_at_peak);
  const live = timeline.arena.filter(slice => isLive.has(slice.name));
  timeline.busiest = Math.max(0, ...live.map(slice => slice.first));
  timeline.liveBytes = live.reduce((sum, slice) => sum + slice.bytes, 0);
  if (!timeline.arena.length) timeline.range = 'all';
  byId('peak').textContent = `${sizeText(memory.peak_bytes)} in all; the arena is busiest at ` +
      `${entryText(timeline.busiest)}, where ${sizeText(timeline.liveBytes)} are live`;
  byId('peak').dataset.bytes = memory.peak_bytes;
  for (const button of byId('ranges').children)
    button.addEventListener('click', () => {
      timeline.range = button.dataset.range;
      drawMemory();
    });
}

/** All of the arena is activations and workspace: there, colours say the type. */
function colourOf(slice) {
  if (timeline.range === 'all') return `c-${slice.class}`;
  return `${precisionOf([slice]) || 'other'}-line`;
}

function legendOf() {
  const key = (name, text) => element('span', {class: 'key'}, element('i', {class: name}), text);
  if (timeline.range === 'all')
    return Object.entries(report.memory.classes)
        .filter(([, bytes]) => bytes)
        .map(([name, bytes]) => key(`c-${name}`, `${name.replace('_', ' ')} ${sizeText(bytes)}`));
  const types = new Set(timeline.arena.map(slice => precisionOf([slice]) || 'other'));
  return [...types].sort().map(type => key(`p-${type}`, type));
}

/** What is drawn, and how its bytes and entries become pixels. */
function frameOf(canvas) {
  const slices = timeline.range === 'arena' ? timeline.arena : timeline.slices;
  const bottom = Math.min(...slices.map(slice => slice.offset));
  const top = Math.max(...slices.map(slice => slice.offset + slice.bytes), bottom + 1);
  const left = 76, right = 16, above = 34, below = 26;
  const width = canvas.clientWidth - left - right, height = canvas.clientHeight - above - below;
  return {
    slices,
    bottom,
    top,
    left,
    above,
    width,
    height,
    x: entry => left + width * entry / timeline.end,
    y: offset => above + height * (1 - (offset - bottom) / (top - bottom))
  };
}

function drawMemory() {
  for (const button of byId('ranges').children)
    button.setAttribute('aria-checked', button.dataset.range === timeline.range);
  byId('classes').replaceChildren(...legendOf());
  const canvas = byId('timeline');
  const ratio = devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const pen = canvas.getContext('2d');
  const style = getComputedStyle(canvas),
        colour = name => style.getPropertyValue(`--${name}`).trim();
  const frame = frameOf(canvas);
  pen.scale(ratio, ratio);
  pen.font = '12px system-ui, sans-serif';
  drawAxes(pen, frame, colour);
  for (const slice of frame.slices) {
    const x = frame.x(slice.first), y = frame.y(slice.offset + slice.bytes);
    const w = Math.max(1, frame.x(slice.last + 1) - x), h = Math.max(1, frame.y(slice.offset) - y);
    pen.fillStyle = colour(colourOf(slice));
    pen.globalAlpha = timeline.range === 'all' ? 1 : 0.5;
    pen.fillRect(x, y, w, h);
    pen.globalAlpha = 1;
    if (h > 3 && w > 3) {
      pen.strokeStyle = colour('page');
      pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    }
    if (slice === timeline.chosen) {
      pen.strokeStyle = colour('ink');
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, w - 2, h - 2);
      pen.lineWidth = 1;
    }
    if (h > 16 && w > 60) {
      pen.fillStyle = colour('ink');
      const kernel = slice.name.split('/').slice(2).join('/') || slice.name;
      pen.fillText(fitted(kernel, w - 8, 7), x + 5, y + Math.min(h / 2 + 4, 16));
    }
  }
  drawPeak(pen, frame, colour);
}

function drawAxes(pen, frame, colour) {
  pen.strokeStyle = colour('line');
  pen.fillStyle = colour('dim');
  pen.textAlign = 'right';
  for (let i = 0; i <= 4; ++i) {
    const bytes = (frame.top - frame.bottom) * i / 4, y = frame.y(frame.bottom + bytes);
    pen.beginPath();
    pen.moveTo(frame.left, y);
    pen.lineTo(frame.left + frame.width, y);
    pen.stroke();
    pen.fillText(sizeText(Math.round(bytes)), frame.left - 8, y + 4);
  }
  pen.textAlign = 'left';
  for (const {name, first, end} of timeline.programs) {
    const x = frame.x(first), w = frame.x(end) - x;
    pen.beginPath();
    pen.moveTo(x + 0.5, frame.above);
    pen.lineTo(x + 0.5, frame.above + frame.height + 8);
    pen.stroke();
    if (w > 8 * name.length) pen.fillText(name, x + 5, frame.above + frame.height + 18);
  }
}

function drawPeak(pen, frame, colour) {
  const x = (frame.x(timeline.busiest) + frame.x(timeline.busiest + 1)) / 2;
  pen.strokeStyle = pen.fillStyle = colour('accent');
  pen.setLineDash([4, 3]);
  pen.beginPath();
  pen.moveTo(x, frame.above - 10);
  pen.lineTo(x, frame.above + frame.height);
  pen.stroke();
  pen.setLineDash([]);
  const text = `peak: ${sizeText(timeline.liveBytes)} live`;
  const fits = x + pen.measureText(text).width + 8 < frame.left + frame.width;
  pen.textAlign = fits ? 'left' : 'right';
  pen.fillText(text, x + (fits ? 5 : -5), frame.above - 14);
  pen.textAlign = 'left';
}

/** The slice under a point of the timeline, or undefined. */
function sliceAt(canvas, x, y) {
  const frame = frameOf(canvas);
  return frame.slices.find(
      slice => x >= frame.x(slice.first) && x < frame.x(slice.last + 1) &&
          y <= Math.max(frame.y(slice.offset), frame.y(slice.offset + slice.bytes) + 1) &&
          y >= frame.y(slice.offset + slice.bytes));
}

function tipForSlice(slice) {
  const lines = [
    slice.name, `${slice.type}, ${sizeText(slice.bytes)} at ${slice.offset}`,
    `${slice.class.replace('_', ' ')}, from ${entryText(slice.first)} to ${entryText(slice.last)}`
  ];
  return slice.node ? [...lines, `from ${slice.node}`] : lines;
}

byId('timeline').addEventListener('mousemove', event => {
  const slice = sliceAt(event.target, event.offsetX, event.offsetY);
  if (slice !== timeline.chosen) {
    timeline.chosen = slice;
    drawMemory();
  }
  if (slice)
    showTip(tipForSlice(slice), event.clientX, event.clientY);
  else
    hideTip();
});
byId('timeline').addEventListener('mouseleave', hideTip);
byId('timeline').addEventListener('click', () => {
  if (!timeline.arena.includes(timeline.chosen)) return;
  const [program, number] = timeline.chosen.name.split('/');
  showEntry(program, Number(number));
});
