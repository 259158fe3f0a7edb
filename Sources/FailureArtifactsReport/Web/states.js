// The states of a store: the rows at the failure, with the changes of later steps undone.

/** Returns a text that identifies a row of a table. */
const keyText = (key) => JSON.stringify(key);

/** Returns a text such as "transaction 9" for a step. */
const stepName = (step) => step.kind === "transaction" ? `transaction ${step.n}` :
  step.kind === "uncommitted" ? "not committed" :
                                "rolled back";

class Store {
  constructor(outline) {
    Object.assign(this, outline);
    this.tables = outline.tables.map((table, index) => new Table(this, table, index));
    /** The differences of steps from the last passing run, as elements. */
    this.comparisons = new Map();
  }

  get last() {
    return this.steps.length - 1;
  }

  /** The first step after which the rows are known; -1 for the state before the first step. */
  get firstKnown() {
    return (this.changes[0]?.from ?? this.steps.length) - 1;
  }

  /** Returns the changed rows of a step by table, or nothing if they are not on the page. */
  async changesOf(step) {
    const range = this.changes.find((range) => range.from <= step && step <= range.to);
    return range ? (await block(range.block))[step] : null;
  }

  /** Returns a text such as "transaction 9" for a step; -1 is the state before the first one. */
  title(step) {
    const found = this.steps[step];
    if (!found) return this.steps[0]?.n > 1 ? `before transaction ${this.steps[0].n}` : "the beginning";
    return found.kind === "transaction" ? `transaction ${found.n}` :
      found.kind === "uncommitted" ? "the uncommitted changes" :
                                     "a rollback";
  }

  /** Returns the number that names the state after a step in a terminal; nothing for the state at the failure. */
  stateNumber(step) {
    for (let i = step; i >= 0; i -= 1)
      if (this.steps[i].n) return this.steps[i].n;
    return this.steps[0]?.n ? this.steps[0].n - 1 : null;
  }
}

class Table {
  constructor(store, outline, index) {
    Object.assign(this, outline);
    this.store = store;
    this.index = index;
    /** The step after which `rows` is the content. */
    this.position = store.steps.length - 1;
    this.rows = null;
    /** The rows of steps that filled the empty table, by step. */
    this.filled = new Map();
    this.moves = Promise.resolve();
  }

  /** Returns the key of a row of a block and the row's cells. */
  split(line) {
    return this.keys ? [this.keys.map((i) => line[i]), line] : [[line[0]], line.slice(1)];
  }

  async load() {
    if (this.rows) return;
    const lines = this.block ? await block(this.block) : [];
    if (this.rows) return;
    this.rows = new Map();
    for (const line of lines) {
      const [key, cells] = this.split(line);
      this.rows.set(keyText(key), {key, cells});
    }
  }

  /** Returns this table's changed rows of a step, with the number of those that are not on the page. */
  async changesOf(step) {
    const found = (await this.store.changesOf(step))?.find(([index]) => index === this.index);
    return {rows: found?.[1] ?? [], missing: found?.[2] ?? 0};
  }

  /** Moves to the state after a step. One move ends before the next one begins. */
  move(step) {
    this.moves = this.moves.then(() => this.moveNow(step));
    return this.moves;
  }

  /** Undoes the steps between two states, or does them again. It stops where changed rows are not on the page. */
  async moveNow(step) {
    await this.load();
    while (this.position > Math.max(step, this.store.firstKnown)) {
      if (this.missing(this.position)) {
        if (!this.filledBy(this.position)) return;
        this.filled.set(this.position, this.rows);
        this.rows = new Map();
      } else {
        const {rows} = await this.changesOf(this.position);
        for (let i = rows.length - 1; i >= 0; i -= 1) this.undo(rows[i]);
      }
      this.position -= 1;
    }
    while (this.position < step) {
      const filled = this.filled.get(this.position + 1);
      if (filled) {
        this.rows = filled;
      } else {
        const {rows} = await this.changesOf(this.position + 1);
        for (const change of rows) this.redo(change);
      }
      this.position += 1;
    }
  }

  /** Returns the number of a step's changed rows that are not on the page. */
  missing(step) {
    return this.store.steps[step]?.counts.find(([index]) => index === this.index)?.[4] ?? 0;
  }

  /** Returns true if a step inserted all rows that the table has after it. */
  filledBy(step) {
    const [inserted, updated, deleted] = this.counts(step);
    return updated + deleted === 0 && inserted === this.rows.size && this.shown >= this.count;
  }

  // A change keeps the uncut values that it replaces, as a fourth element.
  undo(change) {
    const [kind, key, cells] = change;
    const id = keyText(key);
    if (kind === "i") {
      change[3] = this.rows.get(id)?.cells;
      this.rows.delete(id);
    } else if (kind === "d") {
      this.rows.set(id, {key, cells: [...cells]});
    } else {
      const row = this.rows.get(id);
      if (!row) return;
      change[3] = cells.map(([column]) => row.cells[column]);
      for (const [column, old] of cells) row.cells[column] = old;
    }
  }

  redo(change) {
    const [kind, key, cells, kept] = change;
    const id = keyText(key);
    if (kind === "i") {
      this.rows.set(id, {key, cells: kept ?? [...cells]});
    } else if (kind === "d") {
      this.rows.delete(id);
    } else {
      const row = this.rows.get(id);
      if (!row) return;
      cells.forEach(([column, , now], i) => { row.cells[column] = kept ? kept[i] : now; });
    }
  }

  /**
   * Returns the changes of a row, the newest first: the step, the kind and the changed cells.
   *
   * A step of which the page doesn't have all changed rows is there without a kind.
   */
  async blame(key) {
    const id = keyText(key);
    const found = [];
    for (let step = this.store.last; step > this.store.firstKnown; step -= 1) {
      const {rows} = await this.changesOf(step);
      const own = rows.filter(([, other]) => keyText(other) === id);
      for (const [kind, , cells] of own) found.push({step, kind, cells});
      if (!own.length && this.missing(step)) found.push({step, kind: null, cells: []});
    }
    return found;
  }

  /** Returns the numbers of rows that a step inserted, updated and deleted. */
  counts(step) {
    return this.store.steps[step]?.counts.find(([index]) => index === this.index)?.slice(1, 4) ?? [0, 0, 0];
  }
}
