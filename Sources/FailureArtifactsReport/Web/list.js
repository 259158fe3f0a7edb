// The list of the failures: search, filters and keys.

class FailureList {
  /** @param show Shows the failure with an identifier such as "f1". */
  constructor(show) {
    this.show = show;
    this.items = [...document.querySelectorAll("#list li")].map((element) => {
      const link = element.querySelector("a");
      const id = link ? link.getAttribute("href").slice(1) : null;
      return { element, link, id, data: element.dataset, text: null };
    });
    this.described = this.items.filter((item) => item.id);
    this.chosen = {outcome: "", suite: "", shard: "", codes: ""};
    this.search = document.getElementById("search");
    this.search.addEventListener("input", () => this.filter());
    if (this.items.length > 1) {
      this.search.parentElement.hidden = false;
      this.addFilters();
    }
  }

  addFilters() {
    const bar = document.getElementById("filters");
    const outcomes = this.values("outcome");
    if (outcomes.size > 1) {
      const group = make("div", "chips");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Outcome");
      const add = (value, text, count) => {
        const chip = button("chip", `${text} ${count}`, () => {
          this.chosen.outcome = value;
          for (const other of group.children) other.ariaPressed = String(other === chip);
          this.filter();
        });
        chip.ariaPressed = String(value === "");
        group.append(chip);
      };
      add("", "all", this.items.length);
      const names = {timedOut: "timed out"};
      for (const [value, count] of outcomes) add(value, names[value] ?? value, count);
      bar.append(group);
    }
    for (const [name, title] of [["suite", "Suite"], ["shard", "Shard"], ["codes", "Finding"]]) {
      const values = [...this.values(name)].sort();
      if (values.length < 2) continue;
      const select = make("select", "filter", make("option", "", `${title}: all`));
      select.firstChild.value = "";
      select.setAttribute("aria-label", title);
      for (const [value, count] of values) {
        const option = make("option", "", `${value || "none"} (${count})`);
        option.value = value;
        select.append(option);
      }
      select.addEventListener("change", () => { this.chosen[name] = select.value; this.filter(); });
      bar.append(select);
    }
    bar.hidden = bar.children.length === 0;
  }

  /** Returns the values of an attribute with the numbers of failures that have them. */
  values(name) {
    const counts = new Map();
    for (const item of this.items) {
      const values = name === "codes" ? (item.data.codes ?? "").split(" ").filter(Boolean) : [item.data[name] ?? ""];
      for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return counts;
  }

  /** Returns everything of a failure that can be searched, in lower case. */
  textOf(item) {
    item.text ??= [
      item.element.textContent, ...Object.values(item.data), item.id ? document.getElementById(item.id).textContent : ""
    ].join(" ").toLowerCase();
    return item.text;
  }

  matches(item, text) {
    const {outcome, suite, shard, codes} = this.chosen;
    return (!outcome || item.data.outcome === outcome) && (!suite || item.data.suite === suite) &&
      (!shard || item.data.shard === shard) && (!codes || (item.data.codes ?? "").split(" ").includes(codes)) &&
      (!text || this.textOf(item).includes(text));
  }

  filter() {
    const text = this.search.value.trim().toLowerCase();
    let count = 0;
    for (const item of this.items) {
      item.element.hidden = !this.matches(item, text);
      if (!item.element.hidden) count += 1;
    }
    for (const group of document.querySelectorAll("#list .group")) {
      group.hidden = !group.querySelector("li:not([hidden])");
    }
    document.getElementById("found").textContent =
      count === this.items.length ? "" : `${number(count)} of ${counted(this.items.length, "failure")}`;
    const current = this.described.find((item) => item.id === this.current);
    const first = this.described.find((item) => !item.element.hidden);
    if (current?.element.hidden && first) this.show(first.id);
    const isEmpty = !first && count === 0;
    document.body.classList.toggle("nothing-found", isEmpty);
  }

  /** Marks a failure as the shown one. */
  mark(id) {
    this.current = id;
    for (const item of this.described) {
      if (item.id === id)
        item.link.setAttribute("aria-current", "true");
      else
        item.link.removeAttribute("aria-current");
      if (item.id === id) item.element.scrollIntoView({block: "nearest"});
    }
  }

  /** Shows the next or the previous failure of those that match. */
  step(distance) {
    const visible = this.described.filter((item) => !item.element.hidden);
    const place = visible.findIndex((item) => item.id === this.current);
    const next = visible[Math.max(0, Math.min(visible.length - 1, place + distance))];
    if (next) this.show(next.id);
  }
}
