// The panel beside the table: the statements of a step, and the chosen row with everything that changed it.

/** Returns a line of source code, linked if it has an address. */
const placeOf = (statement) => {
  if (!statement.place) return null;
  const text = (statement.function ? statement.function + " " : "") + statement.place;
  if (!statement.url) return make("code", "place", text);
  const link = make("a", "place", make("code", "", text));
  link.href = statement.url;
  link.rel = "noreferrer";
  return link;
};

/** Returns a statement with its line and what SQLite counted. */
const statementElement = (statement, count = 1) => {
  const code = fill(make("code"), statement.sql);
  if (statement.cut) code.append("…");
  const facts = [];
  count = Math.max(count, statement.times ?? 1);
  if (count > 1) facts.push(`${number(count)} ×`);
  if (statement.rows !== undefined) facts.push(counted(statement.rows, "row"));
  if (statement.took) facts.push(statement.took);
  facts.push(...(statement.facts ?? []));
  const element = make("li", statement.quiet ? "statement quiet" : "statement", make("div", "sql", code),
    make("div", "facts", facts.join(" · "), facts.length && statement.place ? " · " : "", placeOf(statement)));
  if (statement.rows > 0) element.classList.add("writes");
  if (statement.error) element.append(make("div", "error", statement.error));
  if (statement.plan) element.append(make("pre", "plan", statement.plan.join("\n")));
  return element;
};

class StepPanel {
  constructor(store, story) {
    this.store = store;
    this.story = story;
    this.element = make("section", "panel card");
    this.element.setAttribute("aria-label", "Step and row");
    this.step = make("div", "of-step");
    this.row = make("div", "of-row");
    this.terminal = make("div", "terminal");
    this.element.append(this.step, this.row, this.terminal);
  }

  /** Shows the statements of a step. */
  showStep(index) {
    const step = this.store.steps[index];
    if (!step) {
      const [title, text] = this.store.steps.length ?
        ["Before the first step", "The state that the first step of the page began with."] :
        ["At the failure", "The bundle has no history of this store, so only its last state is known."];
      this.step.replaceChildren(make("h3", "", title), make("p", "dim", text));
    } else {
      const facts = [
        step.connection ? `connection ${step.connection}` : "", step.at ?? "",
        step.pages ? counted(step.pages, "page") : ""
      ];
      const name = stepName(step), title = name[0].toUpperCase() + name.slice(1);
      const statements = step.statements.map((i) => this.store.statements[i]);
      const quiet = statements.filter((statement) => statement.quiet).length;
      this.step.replaceChildren(
        make("h3", "", title, " ", make("span", "dim", facts.filter(Boolean).join(" · "))),
        make("p", "label", step.label), ...(step.schema ?? []).map((text) => make("p", "schema", text)),
        ...(this.store.comparisons.has(index) ? [this.comparison(index)] : []), this.list(statements)
      );
      if (quiet) {
        const show = button("link", `${counted(quiet, "statement")} more`, () => {
          this.step.classList.add("with-quiet");
          show.remove();
        });
        this.step.classList.remove("with-quiet");
        this.step.append(show);
      }
      if (!statements.length) {
        this.step.append(make(
          "p", "dim",
          this.store.statements.length ? "The log of statements doesn't tell which ones made this step." :
                                         "The bundle has no log of statements."
        ));
      }
    }
    const state = this.store.stateNumber(index);
    const command = this.store.open + (state === null || index === this.store.last ? "" : ` --at ${state}`);
    const element = make("pre", "commands", command);
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", "Commands");
    this.terminal.replaceChildren(make("h3", "", "Continue in a terminal"), element);
  }

  /** Returns what a statement of a step was when the test passed, as the finding has it. */
  comparison(index) {
    const copy = this.store.comparisons.get(index).cloneNode(true);
    return make("div", "", make("p", "label", "Differs from the last passing run:"), copy);
  }

  /** Returns statements as a list; the same one several times in a row is one item. */
  list(statements) {
    const list = make("ol", "statements");
    for (let i = 0; i < statements.length; i += 1) {
      let last = i;
      while (last + 1 < statements.length && statements[last + 1].sql === statements[i].sql &&
             statements[last + 1].place === statements[i].place && !statements[last + 1].error)
        last += 1;
      list.append(statementElement(statements[i], last - i + 1));
      i = last;
      if (list.children.length === 60 && i + 1 < statements.length) {
        list.append(make(
          "li", "cut",
          `and ${counted(statements.length - i - 1, "more statement")}: 'failure-artifacts show --statements'`
        ));
        break;
      }
    }
    return list;
  }

  /** Shows a row: its values, the steps that changed it, and the rows that it refers to or that refer to it. */
  async showRow(table, key, column) {
    const ask = this.ask = {};
    const row =
      table.rows.get(keyText(key)) ?? this.story.grid?.visible.find((row) => keyText(row.key) === keyText(key));
    const blame = await table.blame(key);
    const references = row ? await this.references(table, row.cells) : [];
    if (ask !== this.ask) return;
    const name = table.keys ?
      table.keys.map((i, place) => `${table.columns[i].name} ${plainText(key[place])}`).join(", ") :
      `rowid ${plainText(key[0])}`;
    const heading = make("h3", "");
    fill(heading, `${table.name}, ${name}`, 200);
    const close = button("close", "Close", () => this.story.choose(null));
    this.row.replaceChildren(make("div", "row-head", heading, close));
    if (!row) this.row.append(make("p", "dim", "The row doesn't exist at this point."));
    if (row) this.row.append(this.values(table, row.cells, column));
    const list = make("ol", "blame");
    for (const {step, kind, cells} of blame) list.append(this.blameItem(table, step, kind, cells));
    this.row.append(
      make("h4", "", "Changes of this row"),
      blame.length ?
        list :
        make(
          "p", "dim",
          this.store.steps.length ? "No step of this page changed it." : "The bundle has no history of this store."
        )
    );
    if (references.length) {
      this.row.append(make("h4", "", "Related rows"), make("ul", "references", ...references));
    }
  }

  values(table, cells, chosen) {
    const list = make("dl", "cells");
    table.columns.forEach((column, index) => {
      const cell = cells[index];
      const value = fill(make("dd", index === chosen ? "chosen" : ""), cell, 2000);
      const json = jsonOf(cell);
      if (json) value.append(make("pre", "form", json));
      list.append(make("dt", "", ...breakable(column.name)), value);
    });
    return list;
  }

  blameItem(table, index, kind, cells) {
    const step = this.store.steps[index];
    if (!kind) {
      return make(
        "li", "dim", button("link", `transaction ${step.n}`, () => this.story.go(index)),
        ` may have changed it: ${counted(table.missing(index), "changed row")} are not on this page`
      );
    }
    const verb = {i: "inserted", d: "deleted", u: "updated"}[kind];
    const item = make("li", verb, button("link", stepName(step), () => this.story.go(index)), ` ${verb}`);
    if (kind === "u") {
      for (const [column, old, now] of cells) {
        item.append(make(
          "div", "cell", make("b", "", table.columns[column].name), " ", fill(make("del"), old, 80), " → ",
          fill(make("ins"), now, 80)
        ));
      }
    }
    const writers = (step.writers[table.index]?.[kind] ?? []).map((i) => this.store.statements[i]);
    const places =
      new Map(writers.filter((statement) => statement.place).map((statement) => [statement.place, statement]));
    for (const statement of [...places.values()].slice(0, 3)) item.append(make("div", "facts", placeOf(statement)));
    return item;
  }

  /** Returns links to the rows that a row refers to, and to those that refer to it. */
  async references(table, cells) {
    const items = [];
    for (const [index, column] of table.columns.entries()) {
      if (!column.ref || cells[index] === null || cells[index] === undefined) continue;
      const target = this.store.tables.find((other) => other.name.toLowerCase() === column.ref[0].toLowerCase());
      const place =
        target?.columns.findIndex((other) => other.name.toLowerCase() === column.ref[1].toLowerCase()) ?? -1;
      if (place < 0) continue;
      await target.move(this.story.position);
      const found = [...target.rows.values()].find((row) => sameCell(row.cells[place], cells[index]));
      const text = `${column.name} → ${target.name} ${plainText(cells[index])}`;
      items.push(
        found ? make("li", "", button("link", text, () => this.story.follow(target, found.key))) :
                make("li", "missing", `${text}: ${target.shown < target.count ? "not on this page" : "no such row"}`)
      );
    }
    for (const other of this.store.tables) {
      for (const [index, column] of other.columns.entries()) {
        if (column.ref?.[0].toLowerCase() !== table.name.toLowerCase()) continue;
        const place = table.columns.findIndex((own) => own.name.toLowerCase() === column.ref[1].toLowerCase());
        if (place < 0 || cells[place] === null) continue;
        await other.move(this.story.position);
        const count = [...other.rows.values()].filter((row) => sameCell(row.cells[index], cells[place])).length;
        if (!count) continue;
        items.push(make(
          "li", "",
          button(
            "link", `${counted(count, "row")} of ${other.name}, by ${column.name}`,
            () => this.story.follow(other, null, [index, "=" + plainText(cells[place])])
          )
        ));
      }
    }
    return items;
  }

  clearRow() {
    this.ask = null;
    this.row.replaceChildren(make("p", "dim hint", "Choose a cell to see what changed its row."));
  }
}
