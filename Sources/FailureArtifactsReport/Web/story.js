// The explorer of a failure: stores, timeline, tables and the panel beside them.

class Story {
  /**
   * @param article The failure.
   * @param outline The names of the blocks with its data.
   * @param remember Called when the address of the page changes.
   */
  constructor(article, outline, remember) {
    this.article = article;
    this.remember = remember;
    this.stores = outline.stores.map((store) => new Store(store));
    this.element = article.querySelector(".story");
    this.element.replaceChildren();
    if (this.stores.length > 1) this.addStores();
    this.content = make("div", "store-content");
    this.element.append(this.content);
    this.addFindings();
  }

  addStores() {
    this.storeBar = make("div", "chips");
    this.storeBar.setAttribute("role", "group");
    this.storeBar.setAttribute("aria-label", "Store");
    this.stores.forEach((store, index) => {
      this.storeBar.append(button("chip", store.name, () => this.open({ store: index })));
    });
    this.element.append(this.storeBar);
  }

  /** Adds a button to each finding that is about a step or a row. */
  addFindings() {
    for (const item of this.article.querySelectorAll(".findings li[data-store]")) {
      const place = this.placeOf(item);
      const comparison = item.querySelector(".comparison");
      if (comparison && place.step !== undefined) this.stores[place.store].comparisons.set(place.step, comparison);
      if (place.step === undefined && place.table === undefined) continue;
      (item.querySelector("details") ?? item)
        .append(button(
          "link show",
          place.step !== undefined ? "Show it in the timeline" :
            place.keys.length      ? "Show the row" :
                                     "Show the table",
          () => this.open(place, true)
        ));
    }
  }

  /** Returns the place that a finding is about. */
  placeOf(item) {
    const {store, table, transaction, keys} = item.dataset;
    const place = {store: Number(store), keys: keys ? JSON.parse(keys) : []};
    const step = this.stores[place.store]?.steps.findIndex((step) => step.n === Number(transaction));
    if (transaction !== undefined && step >= 0) place.step = step;
    if (table !== undefined) place.table = Number(table);
    return place;
  }

  /** Opens the place that the best finding is about, or else the state at the failure. */
  openFirst() {
    const item = this.article.querySelector(".findings ol > li:first-child");
    const finding = item?.dataset.store === undefined ? null : this.placeOf(item);
    const store = finding?.store ?? Math.max(0, this.stores.findIndex((store) => store.steps.length));
    return this.open({...finding, store});
  }

  /**
   * Opens a place.
   *
   * @param place `store`; `step`, the last one by default; `table`, one that the step changed by default; `keys` of
   *   rows to mark; `row`, the key of a row to choose.
   * @param scrolls True to scroll to the explorer.
   */
  async open(place, scrolls = false) {
    const store = this.stores[place.store] ?? this.stores[0];
    if (store !== this.store) this.build(store);
    this.keys = {table: place.table, keys: place.keys ?? []};
    const step = place.step ?? store.last;
    const table = place.table ?? this.changedTable(step) ?? this.table?.index ?? store.firstTable;
    await this.go(step, table, place.row ?? place.keys?.[0]);
    if (scrolls) this.content.scrollIntoView({block: "start"});
  }

  build(store) {
    this.store = store;
    this.table = null;
    this.grids = new Map();
    this.text = "";
    if (this.storeBar) {
      [...this.storeBar.children].forEach((chip, index) => { chip.ariaPressed = String(this.stores[index] === store); });
    }
    this.timeline = store.steps.length ? new Timeline(store, (step) => this.go(step)) : null;
    this.panel = new StepPanel(store, this);
    this.tabs = make("div", "tabs");
    this.tabs.setAttribute("role", "group");
    this.tabs.setAttribute("aria-label", "Tables");
    this.note = make("p", "cut");
    this.summary = make("p", "dim summary");
    this.summary.setAttribute("role", "status");
    this.holder = make("div", "grid-holder");
    this.onlyChanged = button("toggle", "only changed", () => this.toggleChanged());
    this.onlyChanged.ariaPressed = "false";
    const search = make("input", "store-search");
    search.type = "search";
    search.placeholder = "Search this store";
    search.setAttribute("aria-label", "Search this store");
    search.addEventListener("input", () => this.search(search.value));
    this.clear = button("toggle", "clear filters", () => { search.value = ""; this.clearFilters(); });
    this.clear.hidden = true;
    const tools = make("div", "tools", search, store.steps.length ? this.onlyChanged : null, this.clear);
    const tables = make("section", "tables card", this.tabs, tools, this.holder, this.summary, this.note);
    tables.setAttribute("aria-label", "Tables");
    this.content.replaceChildren(
      ...(this.timeline ? [this.timeline.element] : []), make("div", "columns-2", tables, this.panel.element)
    );
    if (!store.tables.length) tables.replaceChildren(make("p", "dim", "The store has no tables."));
    this.panel.clearRow();
  }

  /** Returns the index of the first table that a step changed. */
  changedTable(step) {
    return this.store.steps[step]?.counts.map(([index]) => index).find((index) => !this.store.tables[index].quiet);
  }

  /** Shows the state after a step, and in it a table and a row. */
  async go(step, table, row) {
    const ask = this.ask = {};
    const isMove = step !== this.position;
    this.position = step;
    this.timeline?.show(step);
    this.panel.showStep(step);
    if (!this.store.tables.length) return;
    let next = this.store.tables[table ?? this.table?.index ?? 0] ?? this.store.tables[0];
    // Moving through time keeps the table unless only others changed.
    if (table === undefined && isMove && !next.counts(step).some(Boolean)) {
      next = this.store.tables[this.changedTable(step) ?? next.index];
    }
    this.table = next;
    // Without changed rows of the later steps, an earlier state can't be shown.
    await next.move(step);
    const known = next.position;
    if (ask !== this.ask) return;
    const grid = this.gridOf(next);
    this.grid = grid;
    const shown = [...this.holder.children][0];
    if (shown !== grid.element) this.holder.replaceChildren(grid.element);
    grid.culprits = new Set(this.keys?.table === next.index ? this.keys.keys.map(keyText) : []);
    grid.text = this.text;
    grid.onlyChanged = this.onlyChanged.ariaPressed === "true";
    await grid.show(known);
    if (ask !== this.ask) return;
    this.drawTabs(step);
    this.drawNotes(step, known);
    if (row !== undefined)
      this.choose(row);
    else if (this.row && this.row.table === next)
      this.choose(this.row.key, this.row.column);
    else
      this.choose(null);
    this.remember(this.address);
  }

  gridOf(table) {
    if (!this.grids.has(table.index)) {
      const grid = new Grid(table, (key, column) => this.choose(key, column));
      grid.onfilter = () => this.drawNotes(this.position, table.position);
      this.grids.set(table.index, grid);
    }
    return this.grids.get(table.index);
  }

  drawTabs(step) {
    const focused = this.tabs.contains(document.activeElement) ? document.activeElement.dataset.table : null;
    const tab = (table) => {
      const [inserted, updated, deleted] = table.counts(step);
      const element = button("tab", table.name, () => this.go(this.position, table.index));
      element.dataset.table = table.index;
      element.ariaPressed = String(table === this.table);
      for (const [sign, count, name] of [["+", inserted, "inserted"], ["±", updated, "updated"], ["−", deleted, "deleted"]]) {
        if (count) element.append(" ", make("span", name, sign + number(count)));
      }
      if (table.found !== undefined) element.append(" ", make("span", "found", `${number(table.found)} found`));
      return element;
    };
    const loud = this.store.tables.filter(
      (table) => !table.quiet && (!table.dropped || table.counts(step).some(Boolean) || table === this.table)
    );
    const quiet = this.store.tables.filter((table) => table.quiet || (table.dropped && !loud.includes(table)));
    this.tabs.replaceChildren(...loud.map(tab));
    if (quiet.length) {
      const others =
        make("details", "others", make("summary", "", counted(quiet.length, "more table")), ...quiet.map(tab));
      others.open = quiet.includes(this.table);
      this.tabs.append(others);
    }
    if (focused !== null) this.tabs.querySelector(`[data-table="${focused}"]`)?.focus();
  }

  drawNotes(step, known) {
    const table = this.table;
    const changed = table.counts(step).reduce((sum, count) => sum + count, 0);
    const texts = [this.grid.summary + (step === this.store.last ? "" : " at this point")];
    if (step >= 0 && this.store.steps.length) texts.push(`${number(changed)} changed by ${this.store.title(step)}`);
    this.summary.textContent = texts.join(" · ");
    const notes = [table.note];
    const state = this.store.stateNumber(step);
    if (known > step) {
      notes.push(
        `The page can't show this table so early: the state after ${this.store.title(known)} is shown. ` +
        `'${this.store.open}${state === null ? "" : ` --at ${state}`}' opens the state itself.`
      );
    }
    if (changed > this.grid.changes.size && known === step) {
      notes.push(
        `${number(this.grid.changes.size)} of ${counted(changed, "changed row")} are on this page; ` +
        "'failure-artifacts diff' has all."
      );
    }
    this.note.textContent = notes.filter(Boolean).join(" ");
    this.clear.hidden = !(this.text || [...this.grids.values()].some((grid) => grid.filters.size));
  }

  toggleChanged() {
    this.onlyChanged.ariaPressed = String(this.onlyChanged.ariaPressed !== "true");
    this.go(this.position, this.table.index);
  }

  /** Searches the tables of the store for a text. */
  async search(text) {
    this.text = text.trim().toLowerCase();
    const ask = this.asked = {};
    for (const table of this.store.tables) {
      table.found = undefined;
      if (!this.text) continue;
      await table.move(this.position);
      if (ask !== this.asked) return;
      table.found = [...table.rows.values()].filter(({cells}) => rowContains(cells, this.text)).length;
    }
    await this.go(this.position, this.table.index);
  }

  clearFilters() {
    for (const grid of this.grids.values()) {
      grid.filters.clear();
      grid.drawnColumns = null;
    }
    this.search("");
  }

  /** Shows a row of another table, or the rows that fit a filter. */
  async follow(table, key, filter) {
    const grid = this.gridOf(table);
    if (filter) {
      grid.filters = new Map([filter]);
      grid.drawnColumns = null;
    }
    this.onlyChanged.ariaPressed = "false";
    await this.go(this.position, table.index, key ?? null);
    grid.element.focus();
  }

  /** Chooses a row; null for none. */
  choose(key, column) {
    this.row = key ? {table: this.table, key, column} : null;
    this.grid.mark(key);
    if (key)
      this.panel.showRow(this.table, key, column);
    else
      this.panel.clearRow();
    this.remember(this.address);
  }

  /** The part of the page's address that names the store, the step, the table and the row. */
  get address() {
    if (!this.store) return "";
    const step = this.store.steps[this.position];
    const parts =
      [this.store.name,
       this.position === this.store.last ? "" :
         step                            ? String(step.n ?? `step${this.position}`) :
                                           "0"];
    if (this.table) parts.push(this.table.name);
    if (this.row) parts.push(JSON.stringify(this.row.key));
    return parts.map(encodeURIComponent).join("/");
  }

  /** Opens the place that an address names. */
  openAddress(address) {
    let names;
    try {
      names = address.split("/").map(decodeURIComponent);
    } catch {
      return this.openFirst();
    }
    const [name, step, table, row] = names;
    const store = this.stores.findIndex((store) => store.name === name);
    if (store < 0) return this.openFirst();
    const place = {store};
    const {steps, tables} = this.stores[store];
    const index = /^step\d+$/.test(step ?? "") ? Number(step.slice(4)) :
      step                                     ? steps.findIndex((other) => other.n === Number(step)) :
                                                 -1;
    if (step === "0")
      place.step = -1;
    else if (index >= 0)
      place.step = index;
    const found = tables.findIndex((other) => other.name === table);
    if (found >= 0) place.table = found;
    if (row) {
      // A key is JSON, or a value as text.
      try {
        place.row = JSON.parse(row);
      } catch {
        place.row = [row];
      }
      if (!Array.isArray(place.row)) place.row = [place.row];
    }
    return this.open(place);
  }

  /** Moves to the next or the previous step. */
  step(distance) {
    if (!this.timeline) return;
    this.go(Math.max(-1, Math.min(this.store.last, this.position + distance)));
  }
}
