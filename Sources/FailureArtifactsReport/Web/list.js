// The list of the failures: search and keys.

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
    this.search = document.getElementById("search");
    this.search.addEventListener("input", () => this.filter());
    this.search.parentElement.hidden = this.items.length < 2;
  }

  /** Returns everything of a failure that can be searched, in lower case. */
  textOf(item) {
    item.text ??= [
      item.element.textContent, ...Object.values(item.data), item.id ? document.getElementById(item.id).textContent : ""
    ].join(" ").toLowerCase();
    return item.text;
  }

  filter() {
    const text = this.search.value.trim().toLowerCase();
    let count = 0;
    for (const item of this.items) {
      item.element.hidden = text !== "" && !this.textOf(item).includes(text);
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
