'use strict';

// page.js - The controls: views, phases, programs, mouse and keyboard.

const page = {
  view: 'graph',
  phase: null,
  shown: [],
  program: 'training step'
};

//===----------------------------------------------------------------------===//
// Views, phases, programs
//===----------------------------------------------------------------------===//

function showView(view) {
  page.view = view;
  for (const each of ['graph', 'memory', 'entries', 'numbers']) byId(each).hidden = each !== view;
  for (const button of byId('views').children)
    button.setAttribute('aria-selected', button.dataset.view === view);
  hideTip();
  if (view === 'graph') draw();
  if (view === 'memory') drawMemory();
  if (view === 'entries') table.draw();
  if (view === 'numbers') numbers.draw();
}

/** What is chosen stays chosen where the phase has it, by its ONNX names. */
function showPhase(phase) {
  const chosen = graph.chosen;
  page.phase = phase;
  for (const button of byId('phases').children)
    button.setAttribute('aria-checked', button.textContent === phase.name);
  const programs = programsOf(phase);
  const [name, lanes] = programs.find(([each]) => each === page.program) || programs[0];
  byId('program').replaceChildren(...programs.map(([each]) => element('option', {}, each)));
  byId('program').value = name;
  graph.chosen = null;
  graph.linked = new Set();
  showLanes(phase, lanes);
  const same =
      chosen && (graph.items.get(chosen.id) || itemWith(chosen.nodes.flatMap(node => node.onnx)));
  choose(same || null);
}

/** Chooses an entry in the graph of the memory phase. */
function showEntry(program, number) {
  page.program = ['micro', 'update'].includes(program) ? 'training step' : program;
  showView('graph');
  graph.chosen = null;
  showPhase(page.shown.find(phase => phase.name === 'memory'));
  const node = timeline.programs.find(each => each.name === program).entries[number];
  reveal(graph.lanes.map(lane => lane.leafOf.get(node)).find(leaf => leaf));
}

/** The item of the ONNX node with the first of these names; null if the lanes have none. */
function itemWith(names) {
  for (const item of graph.items.values())
    if (item.parent && (item.isNode || item.node) &&
        item.nodes.some(node => node.onnx.includes(names[0])))
      return item;
  return null;
}

/** The update phase has all of a step, and the reasons; without one, the last phase has most. */
function firstPhase() {
  return page.shown.find(phase => phase.name === 'update') || page.shown.at(-1);
}

/** Emit's graph is memory's: it is there when the entries have been profiled. */
function phasesToShow() {
  const phases = [...report.phases];
  const memory = phases.find(phase => phase.name === 'memory');
  if (report.profile)
    phases.push({
      ...memory,
      name: 'emit',
      help: 'kernels, and what they cost',
      decoded: functionsOf(memory)
    });
  return phases;
}

//===----------------------------------------------------------------------===//
// Mouse and keyboard
//===----------------------------------------------------------------------===//

const itemAt = event => graph.items.get(event.target.closest('[data-id]')?.dataset.id);

let drag = null;  // {x, y, moved}: where the pointer was
svg.addEventListener('pointerdown', event => drag = {
  x: event.clientX,
  y: event.clientY,
  moved: 0
});
addEventListener('pointerup', () => setTimeout(() => drag = null));  // after the click
addEventListener('pointermove', event => {
  if (!drag) return;
  graph.x += event.clientX - drag.x;
  graph.y += event.clientY - drag.y;
  drag.moved += Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y);
  drag.x = event.clientX;
  drag.y = event.clientY;
  if (drag.moved > 4) soon(draw);
});
svg.addEventListener('click', event => {
  if (drag && drag.moved > 4) return;
  const item = itemAt(event);
  // A click draws anew, so that what a double click would be told to is no longer there.
  if (item && !item.node && (event.detail === 2 || (item.open && event.target.matches('.head'))))
    return setOpen(item, !item.open);
  choose(item && item.parent ? item : null);
});
svg.addEventListener('mousemove', event => {
  const item = itemAt(event);
  const isQuiet = !item || !item.parent || item.open || (drag && drag.moved > 4);
  if (isQuiet)
    hideTip();
  else
    showTip(tipFor(item), event.clientX, event.clientY);
});
svg.addEventListener('mouseleave', hideTip);
svg.addEventListener('wheel', event => {
  event.preventDefault();
  const {left, top} = svg.getBoundingClientRect();
  graph.next = [
    Math.exp(-event.deltaY * (event.deltaMode ? 0.04 : 0.0015)), event.clientX - left,
    event.clientY - top
  ];
  zoom(...graph.next);
}, {passive: false});

/** Once before the page is shown again, however often it is asked for. */
function soon(action) {
  if (soon.asked) return;
  soon.asked = true;
  requestAnimationFrame(() => {
    soon.asked = false;
    action();
  });
}

addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return;
  const step = 80;
  const actions = {
    '/': () => byId('search').focus(),
    'Escape': () => choose(null),
    '+': () => zoom(1.25),
    '=': () => zoom(1.25),
    '-': () => zoom(0.8),
    '0': () => fit(),
    'ArrowLeft': () => {
      graph.x += step;
      draw();
    },
    'ArrowRight': () => {
      graph.x -= step;
      draw();
    },
    'ArrowUp': () => {
      graph.y += step;
      draw();
    },
    'ArrowDown': () => {
      graph.y -= step;
      draw();
    },
    'Enter': () => graph.chosen && setOpen(graph.chosen, !graph.chosen.open),
  };
  // A button keeps the focus once it is clicked; Enter presses it, the other keys are the graph's.
  const isButton = event.target.tagName === 'BUTTON' && event.key !== 'Enter';
  const isGraphs = event.target === svg || event.target === document.body || isButton;
  if (!actions[event.key] || (!isGraphs && event.key !== '/')) return;
  event.preventDefault();
  actions[event.key]();
});

addEventListener('resize', () => soon(() => showView(page.view)));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => showView(page.view));
byId('collapse').addEventListener('click', () => {
  setAllOpen(false);
  fit(legibleScale);
});
byId('expand').addEventListener('click', () => setAllOpen(true));
byId('larger').addEventListener('click', () => zoom(1.25));
byId('smaller').addEventListener('click', () => zoom(0.8));
byId('fit').addEventListener('click', () => fit());
byId('program').addEventListener('change', event => {
  page.program = event.target.value;
  showPhase(page.phase);
  fit(legibleScale);
});

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

function start() {
  document.title = `${report.model} - halfstep`;
  byId('model').textContent = report.model;
  const {precision, loss, optimizer, batch} = report.recipe;
  byId('recipe').textContent =
      [precision, loss, optimizer, batch && `batch ${batch}`].filter(Boolean).join(' · ');
  byId('legend').replaceChildren(
      ...['f16', 'bf16', 'f32', 'f64', 'other', 'mixed'].map(
          each => element('span', {class: 'key'}, element('i', {class: `p-${each}`}), each)),
      element(
          'span', {class: 'key'}, 'fill: result · left edge: operands · bar: operations inside'));
  addReaders(report.phases);
  const phases = page.shown = phasesToShow();
  byId('phases').replaceChildren(...phases.map(phase => {
    const button = element('button', {role: 'radio', title: phase.help}, phase.name);
    button.addEventListener('click', () => {
      showPhase(phase);
      if (graph.chosen)
        reveal(graph.chosen);
      else
        fit(legibleScale);
    });
    return button;
  }));
  for (const button of byId('views').children) {
    const {view} = button.dataset;
    button.disabled =
        (view === 'memory' && !report.memory) || (view === 'entries' && !report.profile);
    button.addEventListener('click', () => showView(view));
  }
  if (report.memory) startMemory();
  if (report.profile) startEntries();
  showPhase(firstPhase());
  showView('graph');
  fit(legibleScale);
}

start();
