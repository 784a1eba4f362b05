'use strict';

// table.js - Tables of which only the rows in sight are in the page, sorted by a click on a
// heading.

const rowHeight = 26;

/** A table in the box `id`. A column is [title, value of a row, its text]; `choose` takes a row. */
function makeTable(id, choose) {
  const box = byId(id);
  const table = {rows: [], columns: [], sortedBy: null, falling: true};

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
    table.draw();
  }

  function headOf() {
    const head = element('tr');
    table.columns.forEach(([title, valueOf], i) => {
      const isNumber = table.rows.some(row => typeof valueOf(row) === 'number');
      const cell = element(
          'th', {class: isNumber ? 'number' : ''}, title,
          table.sortedBy === i ? (table.falling ? ' ↓' : ' ↑') : '');
      cell.addEventListener('click', () => sortBy(i));
      head.append(cell);
    });
    return head;
  }

  function lineOf(row) {
    const line = element('tr');
    line.addEventListener('click', () => choose(row));
    for (const [, valueOf, text] of table.columns) {
      const value = valueOf(row);
      line.append(element(
          'td', {class: typeof value === 'number' ? 'number' : '', title: value ?? ''},
          value === undefined ? '' : text(value)));
    }
    return line;
  }

  table.draw = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - 5);
    const last = Math.min(table.rows.length, first + Math.ceil(box.clientHeight / rowHeight) + 10);
    const spacer = rows => element('tr', {style: `height:${rows * rowHeight}px`});
    const body = element(
        'tbody', {}, spacer(first), ...table.rows.slice(first, last).map(lineOf),
        spacer(table.rows.length - last));
    const {scrollTop, scrollLeft} = box;
    box.replaceChildren(element('table', {}, element('thead', {}, headOf()), body));
    box.scrollTop = scrollTop;
    box.scrollLeft = scrollLeft;
  };
  box.addEventListener('scroll', () => soon(table.draw));
  return table;
}
