'use strict';
// A click on a heading sorts by it; a second one turns the order.
function keyOf(row, column) {
  const key = row.cells[column].dataset.key;
  return key === '' || key === '-' || Number.isNaN(Number(key)) ? key : Number(key);
}
function compare(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a.localeCompare(b, undefined, {numeric: true});
}
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      const body = table.tBodies[0];
      const rows = [...body.rows];
      rows.sort((a, b) => (down ? -1 : 1) * compare(keyOf(a, column), keyOf(b, column)));
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      body.append(...rows);
    });
  });
}
