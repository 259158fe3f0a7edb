// A table as a grid: sorted, filtered, and with only the visible rows and columns in the document.

const rowHeight = 26;
const manyColumns = 40;

/** Returns a function that tells whether a value fits the text of a filter. */
const filterOf = (text) => {
  const match = /^\s*(=|!=|<=|>=|<|>)\s*(.*)$/.exec(text);
  if (!match) {
    const part = text.trim().toLowerCase();
    return (cell) => plainText(cell).toLowerCase().includes(part);
  }
  const [, sign, operand] = match;
  const isNull = operand.toUpperCase() === "NULL";
  const value = operand.trim() !== "" && Number.isFinite(Number(operand)) ? Number(operand) : operand;
  const isSame = (cell) => isNull ? cell === null : plainText(cell).toLowerCase() === operand.toLowerCase()
    || (typeof value === "number" && isNumeric(cell) && Number(numeric(cell)) === value);
  if (sign === "=") return isSame;
  if (sign === "!=") return (cell) => !isSame(cell);
  const order = { "<": (x) => x < 0, ">": (x) => x > 0, "<=": (x) => x <= 0, ">=": (x) => x >= 0 }[sign];
  return (cell) => cell !== null && rank(cell) === rank(value) && order(compareCells(cell, value));
};

class Grid {
  /**
   * @param table The table.
   * @param choose Called with a row's key and the index of a column.
   */
  constructor(table, choose) {
    this.table = table;
    this.choose = choose;
    this.sort = {column: -1, down: false};
    this.filters = new Map();
    this.text = "";
    this.onlyChanged = false;
    this.changes = new Map();
    this.culprits = new Set();
    this.visible = [];
    this.element = make("div", "grid");
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", `Rows of ${table.name}`);
    this.body = make("tbody");
    this.header = make("tr");
    this.filterRow = make("tr", "filters");
    this.columns = make("colgroup");
    this.view = make("table", "", this.columns, make("thead", "", this.header, this.filterRow), this.body);
    this.element.append(this.view);
    let isWaiting = false;
    this.element.addEventListener("scroll", () => {
      if (isWaiting) return;
      isWaiting = true;
      requestAnimationFrame(() => { isWaiting = false; this.draw(); });
    });
    this.body.addEventListener("click", (event) => {
      const cell = event.target.closest("td[data-column]");
      if (cell) this.choose(this.visible[Number(cell.parentElement.dataset.index)].key, Number(cell.dataset.column));
    });
    this.body.addEventListener("keydown", (event) => this.moveFocus(event));
  }

  /** Shows the table's rows after a step, with the changes that the step made. */
  async show(step) {
    const {rows} = step >= 0 ? await this.table.changesOf(step) : {rows: []};
    this.changes = new Map(rows.map(([kind, key, cells]) => [keyText(key), {kind, key, cells}]));
    this.refresh();
  }

  measure() {
    if (this.widths) return;
    const sample = [...this.table.rows.values()].slice(0, 60);
    this.widths = this.table.columns.map((column, index) => {
      const lengths = sample.map(({ cells }) => Math.min(44, plainText(cells[index]).length));
      const longest = Math.max(column.name.length + (column.ref ? 4 : 2), 4, ...lengths);
      return Math.round(Math.min(44, longest) * 7.6 + 22);
    });
  }

  refresh() {
    this.measure();
    const tests = [...this.filters].map(([column, text]) => [column, filterOf(text)]);
    const rows = [...this.table.rows.values()].map((row) => ({...row, change: this.changes.get(keyText(row.key))}));
    for (const change of this.changes.values()) {
      if (change.kind === "d") rows.push({key: change.key, cells: change.cells, change});
    }
    this.visible = rows.filter(
      (row) => (!this.onlyChanged || row.change) && tests.every(([column, test]) => test(row.cells[column])) &&
        (!this.text || rowContains(row.cells, this.text))
    );
    const {column, down} = this.sort;
    const keys = (a, b) => {
      for (let i = 0; i < a.key.length; i += 1) { const order = compareCells(a.key[i], b.key[i]); if (order) return order; }
      return 0;
    };
    const first = (row) => row.change ? 0 : this.culprits.has(keyText(row.key)) ? 1 : 2;
    // Without another order, the rows that the step changed come first.
    this.visible.sort(
      column < 0 ? (a, b) => first(a) - first(b) || keys(a, b) :
                   (a, b) => (down ? -1 : 1) * compareCells(a.cells[column], b.cells[column]) || keys(a, b)
    );
    this.drawn = null;
    this.draw();
  }

  /** Returns the columns in view and the widths before and after them. */
  columnRange() {
    const count = this.widths.length;
    if (count <= manyColumns) return {from: 0, to: count, before: 0, after: 0};
    let x = 0, from = 0, before = 0;
    const left = this.element.scrollLeft - 200, right = this.element.scrollLeft + this.element.clientWidth + 200;
    while (from < count && x + this.widths[from] < left) {
      x += this.widths[from];
      from += 1;
    }
    before = x;
    let to = from;
    while (to < count && x < right) {
      x += this.widths[to];
      to += 1;
    }
    const total = this.widths.reduce((sum, width) => sum + width, 0);
    return {from, to, before, after: total - x};
  }

  draw() {
    const {from, to, before, after} = this.columnRange();
    const height = this.element.clientHeight || 400;
    const start = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - 8);
    const end = Math.min(this.visible.length, start + Math.ceil(height / rowHeight) + 18);
    const drawn = [from, to, start, end].join();
    if (this.drawn === drawn) return;
    const hasColumns = this.drawnColumns === `${from},${to}`;
    if (!hasColumns) this.drawHeader(from, to, before, after);
    // A turn of the wheel keeps most rows.
    const kept = this.drawn && hasColumns ? this.drawnRows : new Map();
    this.drawnRows = new Map();
    this.drawn = drawn;
    const focused = document.activeElement?.closest?.("td[data-column]");
    const focus =
      focused && this.body.contains(focused) ? [focused.parentElement.dataset.index, focused.dataset.column] : null;
    const rows = [];
    if (start > 0) rows.push(this.spacer(start));
    for (let index = start; index < end; index += 1) {
      const row = kept.get(index) ?? this.row(index, from, to, before, after);
      this.drawnRows.set(index, row);
      rows.push(row);
    }
    if (end < this.visible.length) rows.push(this.spacer(this.visible.length - end));
    this.body.replaceChildren(...rows);
    this.view.setAttribute("aria-rowcount", String(this.visible.length + 2));
    if (focus) {
      this.body.querySelector(
                 `tr[data-index="${focus[0]}"] td[data-column="${focus[1]}"]`
      )?.focus({preventScroll: true});
    }
  }

  spacer(count) {
    const cell = make("td");
    cell.colSpan = this.columns.children.length;
    const row = make("tr", "spacer", cell);
    row.setAttribute("aria-hidden", "true");
    cell.style.height = `${count * rowHeight}px`;
    return row;
  }

  drawHeader(from, to, before, after) {
    this.drawnColumns = `${from},${to}`;
    const widths = [...(before ? [before] : []), ...this.widths.slice(from, to), ...(after ? [after] : [])];
    this.columns.replaceChildren(...widths.map((width) => {
      const column = make("col");
      column.style.width = `${width}px`;
      return column;
    }));
    this.view.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
    const names = [], filters = [];
    if (before) {
      names.push(make("td"));
      filters.push(make("td"));
    }
    for (let index = from; index < to; index += 1) {
      const column = this.table.columns[index];
      const title = button("sort", column.name + (column.ref ? " →" : ""), () => {
        this.sort = { column: index, down: this.sort.column === index ? !this.sort.down : false };
        this.drawnColumns = null;
        this.refresh();
        this.header.querySelector(`th[data-column="${index}"] button`)?.focus();
      });
      title.title =
        [column.type, column.key ? "primary key" : "", column.ref ? `refers to ${column.ref.join(".")}` : ""]
          .filter(Boolean)
          .join(", ");
      const head = make("th", "", title);
      head.scope = "col";
      head.dataset.column = index;
      head.ariaSort = this.sort.column === index ? (this.sort.down ? "descending" : "ascending") : "none";
      names.push(head);
      const input = make("input");
      input.type = "search";
      input.value = this.filters.get(index) ?? "";
      input.setAttribute("aria-label", `Filter ${column.name}`);
      input.placeholder = "…";
      input.addEventListener("input", () => {
        if (input.value.trim()) this.filters.set(index, input.value); else this.filters.delete(index);
        this.element.scrollTop = 0;
        this.refresh();
        this.onfilter?.();
      });
      filters.push(make("td", "", input));
    }
    if (after) {
      names.push(make("td"));
      filters.push(make("td"));
    }
    const focus = this.filterRow.contains(document.activeElement) ? document.activeElement.ariaLabel : null;
    this.header.replaceChildren(...names);
    this.filterRow.replaceChildren(...filters);
    if (focus) [...this.filterRow.querySelectorAll("input")].find((input) => input.ariaLabel === focus)?.focus();
  }

  row(index, from, to, before, after) {
    const {key, cells, change} = this.visible[index];
    const row = make("tr");
    row.dataset.index = index;
    row.setAttribute("aria-rowindex", String(index + 3));
    const id = keyText(key);
    if (change) row.classList.add({i: "inserted", d: "deleted", u: "updated"}[change.kind]);
    if (this.culprits.has(id)) row.classList.add("culprit");
    if (this.chosen === id) row.classList.add("chosen");
    const changed = change?.kind === "u" ? new Map(change.cells.map(([column, old]) => [column, old])) : null;
    if (before) row.append(make("td"));
    for (let column = from; column < to; column += 1) {
      const cell = fill(make("td"), cells[column], 120);
      cell.dataset.column = column;
      cell.tabIndex = index === (this.focusIndex ?? 0) && column === (this.focusColumn ?? 0) ? 0 : -1;
      if (changed?.has(column)) {
        cell.classList.add("changed");
        cell.title = "before: " + plainText(changed.get(column));
      }
      row.append(cell);
    }
    if (after) row.append(make("td"));
    return row;
  }

  /** Arrow keys move between cells, Enter chooses one. */
  moveFocus(event) {
    const cell = event.target.closest("td[data-column]");
    const distance = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!cell || (!distance && event.key !== "Enter")) return;
    event.preventDefault();
    const row = Number(cell.parentElement.dataset.index), column = Number(cell.dataset.column);
    if (!distance) {
      this.choose(this.visible[row].key, column);
      return;
    }
    this.focusIndex = Math.max(0, Math.min(this.visible.length - 1, row + distance[0]));
    this.focusColumn = Math.max(0, Math.min(this.widths.length - 1, column + distance[1]));
    this.reveal(this.focusIndex);
    this.drawn = null;
    this.draw();
    this.body.querySelector(`tr[data-index="${this.focusIndex}"] td[data-column="${this.focusColumn}"]`)?.focus();
  }

  /** Scrolls a row into view. */
  reveal(index) {
    const top = index * rowHeight, head = this.view.tHead.offsetHeight || 56;
    const height = this.element.clientHeight - head;
    if (top < this.element.scrollTop)
      this.element.scrollTop = top;
    else if (top + rowHeight > this.element.scrollTop + height)
      this.element.scrollTop = top + rowHeight - height;
  }

  /** Marks a row as chosen, and scrolls to it. Returns false if the grid doesn't show it. */
  mark(key) {
    this.chosen = key ? keyText(key) : null;
    const index = this.visible.findIndex((row) => keyText(row.key) === this.chosen);
    if (index >= 0) {
      this.reveal(index);
      [this.focusIndex, this.focusColumn] = [index, this.focusColumn ?? 0];
    }
    this.drawn = null;
    this.draw();
    return index >= 0;
  }

  /** The number of visible rows, and the number of all rows, as a sentence. */
  get summary() {
    const count = this.visible.filter((row) => row.change?.kind !== "d").length, all = this.table.rows.size;
    return count === all ? counted(all, "row") : `${number(count)} of ${counted(all, "row")}`;
  }
}
