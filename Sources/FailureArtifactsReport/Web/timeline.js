// The timeline: a scrubber over the steps, and their list, newest first.

/** Returns runs of steps with the same label, the newest first. */
const runsOf = (steps) => {
  const runs = [];
  for (let i = steps.length - 1; i >= 0; i -= 1) {
    const last = runs[runs.length - 1];
    const step = steps[i];
    if (last && step.kind === "transaction" && steps[last.first].kind === "transaction"
        && steps[last.first].label === step.label && !step.finding && !steps[last.first].finding) {
      last.first = i;
    } else {
      runs.push({ first: i, last: i });
    }
  }
  return runs;
};

class Timeline {
  /** @param choose Called with the index of the chosen step; -1 is the state before the first one. */
  constructor(store, choose) {
    this.store = store;
    this.choose = choose;
    this.element = make("section", "timeline card");
    this.element.setAttribute("aria-label", "Timeline");
    this.status = make("span", "status");
    this.status.setAttribute("role", "status");
    const kinds = (kind) => store.steps.filter((step) => step.kind === kind).length;
    const texts = [counted(store.total, "transaction")];
    if (kinds("uncommitted")) texts.push("uncommitted changes");
    if (kinds("rolledBack")) texts.push(`${kinds("rolledBack")} rolled back`);
    this.element.append(make(
      "p", "heading", make("b", "", "Timeline"), " " + texts.join(", ") + " · ", make("kbd", "", "←"),
      make("kbd", "", "→"), " step · ", this.status
    ));
    this.addScrubber();
    this.addList();
    const hidden = store.total - kinds("transaction");
    if (hidden > 0) {
      this.element.append(make(
        "p", "cut",
        `The first ${counted(hidden, "transaction")} are not on this page: ` +
          "'failure-artifacts history' has all."
      ));
    }
    if (store.firstKnown >= 0) {
      this.element.append(make(
        "p", "cut",
        `The page has no rows before ${store.title(store.firstKnown + 1)}: ` +
          `'${store.open} --at N' opens an earlier state.`
      ));
    }
  }

  addScrubber() {
    const {steps} = this.store;
    this.range = make("input");
    Object.assign(this.range, {type: "range", min: 0, max: steps.length, step: 1});
    this.range.setAttribute("aria-label", "Point in time");
    this.range.addEventListener("input", () => this.choose(Number(this.range.value) - 1));
    const ticks = make("div", "ticks");
    ticks.setAttribute("aria-hidden", "true");
    // Many steps share a tick, so that the drawing stays small.
    const width = Math.max(1, Math.ceil(steps.length / 240));
    for (let i = 0; i < steps.length; i += width) {
      const part = steps.slice(i, i + width);
      const tick = make("i", [...new Set(part.map((step) => step.kind))].join(" "));
      if (part.some((step) => step.finding)) tick.classList.add("finding");
      tick.style.left = `${100 * (i + part.length) / steps.length}%`;
      ticks.append(tick);
    }
    this.element.append(make("div", "scrubber", ticks, this.range));
  }

  addList() {
    const {steps} = this.store;
    this.buttons = new Map();
    this.list = make("ol", "steps");
    this.list.setAttribute("aria-label", "Steps, the newest first");
    for (const run of runsOf(steps)) {
      const count = run.last - run.first + 1;
      if (count < 3) {
        for (let i = run.last; i >= run.first; i -= 1) this.list.append(make("li", "", this.stepButton(i)));
        continue;
      }
      const inner = make("ol");
      const details = make(
        "details", "run",
        make(
          "summary", "", make("span", "n", `${steps[run.first].n}–${steps[run.last].n}`),
          ` ${count} × ${steps[run.first].label}`
        ),
        inner
      );
      details.addEventListener("toggle", () => {
        if (inner.children.length) return;
        for (let i = run.last; i >= run.first; i -= 1) inner.append(make("li", "", this.stepButton(i)));
        this.markButtons();
      });
      this.list.append(make("li", "", details));
    }
    this.list.append(make("li", "", this.stepButton(-1)));
    this.list.tabIndex = -1;
    this.element.append(this.list);
  }

  stepButton(index) {
    const step = this.store.steps[index];
    const result = button("step", "", () => this.choose(index));
    if (step) {
      const name = step.n ? String(step.n) : stepName(step);
      result.append(make("span", "n", name), " " + step.label);
      result.classList.add(step.kind);
      if (step.finding) result.append(" ", make("span", "mark", "finding"));
    } else {
      result.append(make("span", "n", "start"), " " + this.store.title(-1));
    }
    this.buttons.set(index, result);
    return result;
  }

  markButtons() {
    for (const [index, element] of this.buttons) {
      if (index === this.current)
        element.setAttribute("aria-current", "step");
      else
        element.removeAttribute("aria-current");
    }
  }

  show(index) {
    this.current = index;
    this.range.value = index + 1;
    const title = this.store.title(index);
    const text = index < 0      ? `the state before the first step` :
      index === this.store.last ? `the state at the failure, after ${title}` :
                                  `the state after ${title}`;
    this.range.setAttribute("aria-valuetext", text);
    this.status.textContent = "showing " + text;
    this.markButtons();
    const element = this.buttons.get(index);
    if (element?.offsetParent) {
      const {top, bottom} = element.getBoundingClientRect(), box = this.list.getBoundingClientRect();
      if (top < box.top) this.list.scrollTop -= box.top - top;
      if (bottom > box.bottom) this.list.scrollTop += bottom - box.bottom;
    }
  }
}
