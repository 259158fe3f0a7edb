/// The script of the page: tables with paging, sorting and a filter, and the filter of the failures.
///
/// Content of a store is added to the page as text nodes, never as markup.
enum ReportScript {
    /// SHA-256 of ``text``, in Base64; a test computes it.
    static let hash = "Uqx3X8ygOcCsoGaw6/4CPjon3Cog2nijfhJ6Xhc+Otw="

    static let text = #"""
        "use strict";
        (() => {
          const pageSize = 50;

          const make = (name, className, text) => {
            const element = document.createElement(name);
            if (className) element.className = className;
            if (text !== undefined) element.textContent = text;
            return element;
          };

          // Control characters, and those that turn the direction of what follows, show as escapes.
          const hidden = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
          const escapes = { "\t": "\\t", "\r": "\\r" };
          const escaped = c => escapes[c] || "\\u{" + c.codePointAt(0).toString(16) + "}";

          // [class, text, bytes of the whole or nothing]
          const parts = cell => {
            if (cell === null) return ["null", "NULL"];
            if (typeof cell === "number") return ["num", String(cell)];
            if (typeof cell === "string") return ["text", cell];
            if ("i" in cell) return ["num", cell.i];
            if ("r" in cell) return ["num", cell.r];
            if ("t" in cell) return ["text", cell.t, cell.n];
            if ("x" in cell) return ["blob", "text X'" + cell.x + "'", cell.n * 2 > cell.x.length ? cell.n : 0];
            return ["blob", "X'" + cell.b + "'", cell.n * 2 > cell.b.length ? cell.n : 0];
          };

          const fill = (td, cell) => {
            const [kind, text, bytes] = parts(cell);
            td.className = kind;
            if (kind === "text") td.dir = "auto";
            let plain = "";
            for (const c of text) {
              if (!hidden.test(c)) { plain += c; continue; }
              td.append(plain, make("span", "escape", escaped(c)));
              plain = "";
            }
            td.append(plain);
            if (bytes) td.append(make("span", "more", "… " + bytes.toLocaleString("en") + " bytes"));
          };

          // As SQLite sorts: NULL, numbers, texts, blobs.
          const rank = cell => cell === null ? 0 : typeof cell === "number" || "i" in Object(cell) || "r" in Object(cell) ? 1
            : "b" in Object(cell) ? 3 : 2;
          const number = cell => typeof cell === "number" ? cell : "i" in cell ? BigInt(cell.i)
            : cell.r === "Inf" ? Infinity : cell.r === "-Inf" ? -Infinity : Number(cell.r);
          const text = cell => typeof cell === "string" ? cell : cell.t ?? cell.x ?? cell.b;
          // By code points, where the language would go by UTF-16.
          const compareTexts = (a, b) => {
            let i = 0;
            while (i < a.length && i < b.length && a[i] === b[i]) i += 1;
            if (i === a.length || i === b.length) return a.length - b.length;
            const weight = unit => unit >= 0xe000 ? unit - 0x2000 : unit >= 0xd800 ? unit + 0x2000 : unit;
            return weight(a.charCodeAt(i)) - weight(b.charCodeAt(i));
          };
          const compare = (a, b) => {
            const order = rank(a) - rank(b);
            if (order || a === null) return order;
            if (rank(a) === 1) return number(a) < number(b) ? -1 : number(a) > number(b) ? 1 : 0;
            return compareTexts(text(a), text(b));
          };

          const build = details => {
            const data = JSON.parse(document.getElementById(details.dataset.rows).textContent);
            const name = details.dataset.name;
            const state = { page: 0, column: -1, down: false, rows: data.rows };
            const tools = make("div", "tools");
            const label = make("label", "", "Filter ");
            const input = make("input");
            input.type = "search";
            input.setAttribute("aria-label", "Filter the rows of " + name);
            label.append(input);
            const back = make("button", "", "Previous");
            const next = make("button", "", "Next");
            back.setAttribute("aria-label", "Previous rows of " + name);
            next.setAttribute("aria-label", "Next rows of " + name);
            const status = make("span", "dim");
            status.setAttribute("role", "status");
            tools.append(label, back, next, status);
            const grid = make("div", "grid");
            grid.tabIndex = 0;
            grid.setAttribute("role", "group");
            grid.setAttribute("aria-label", "Rows of " + name);
            const table = make("table");
            const body = make("tbody");
            const head = make("tr");
            const headers = data.columns.map((column, index) => {
              const header = make("th");
              header.scope = "col";
              const button = make("button");
              fill(button, column);
              button.className = "";
              button.addEventListener("click", () => {
                state.down = state.column === index && !state.down;
                state.column = index;
                update();
              });
              const first = data.rows.find(row => row[index] !== null);
              if (first && rank(first[index]) === 1) header.className = "num";
              header.append(button);
              return header;
            });
            head.append(...headers);
            const top = make("thead");
            top.append(head);
            table.append(top, body);
            grid.append(table);

            const draw = () => {
              const pages = Math.max(1, Math.ceil(state.rows.length / pageSize));
              state.page = Math.min(Math.max(state.page, 0), pages - 1);
              const first = state.page * pageSize;
              const shown = state.rows.slice(first, first + pageSize);
              body.replaceChildren(...shown.map(row => {
                const line = make("tr");
                for (const cell of row) {
                  const td = make("td");
                  fill(td, cell);
                  line.append(td);
                }
                return line;
              }));
              back.disabled = state.page === 0;
              next.disabled = state.page >= pages - 1;
              const total = data.rows.length.toLocaleString("en");
              const found = state.rows.length.toLocaleString("en");
              status.textContent = state.rows.length === 0 ? "No row of " + total
                : "Rows " + (first + 1).toLocaleString("en") + "–" + (first + shown.length).toLocaleString("en") + " of " + found
                  + (found === total ? "" : " found in " + total);
            };
            const update = () => {
              const wanted = input.value.toLowerCase();
              state.rows = wanted === "" ? data.rows.slice()
                : data.rows.filter(row => row.some(cell => parts(cell)[1].toLowerCase().includes(wanted)));
              const column = state.column;
              if (column >= 0) {
                const sign = state.down ? -1 : 1;
                state.rows.sort((a, b) => sign * compare(a[column], b[column]));
              }
              headers.forEach((header, index) => {
                if (index === column) header.setAttribute("aria-sort", state.down ? "descending" : "ascending");
                else header.removeAttribute("aria-sort");
                const mark = header.querySelector(".mark");
                if (mark) mark.remove();
                if (index === column) {
                  const arrow = make("span", "mark", state.down ? " ▼" : " ▲");
                  arrow.setAttribute("aria-hidden", "true");
                  header.firstChild.append(arrow);
                }
              });
              state.page = 0;
              draw();
            };
            input.addEventListener("input", update);
            back.addEventListener("click", () => { state.page -= 1; draw(); });
            next.addEventListener("click", () => { state.page += 1; draw(); });
            draw();
            details.append(tools, grid);
          };

          for (const details of document.querySelectorAll("details.rows")) {
            details.addEventListener("toggle", () => {
              if (details.open && !details.dataset.built) {
                details.dataset.built = "yes";
                build(details);
              }
            });
          }

          // What is nearest to the failure comes first.
          const showEnds = () => {
            for (const element of document.querySelectorAll(".late")) {
              if (element.dataset.shown || !element.clientHeight) continue;
              element.dataset.shown = "yes";
              element.scrollTo(element.scrollWidth, element.scrollHeight);
              if (element.classList.contains("statements")) element.scrollLeft = 0;
            }
          };
          for (const details of document.querySelectorAll("details.failure")) details.addEventListener("toggle", showEnds);
          showEnds();

          const reveal = () => {
            const target = location.hash && document.getElementById(location.hash.slice(1));
            if (!target) return;
            for (let element = target; element; element = element.parentElement) {
              if (element.tagName === "DETAILS") element.open = true;
            }
            target.scrollIntoView();
            const summary = target.querySelector("summary");
            if (target.tagName === "DETAILS" && summary) summary.focus({ preventScroll: true });
          };
          addEventListener("hashchange", reveal);
          reveal();

          const search = document.getElementById("search");
          if (search) search.addEventListener("input", () => {
            const wanted = search.value.toLowerCase();
            let found = 0;
            for (const item of document.querySelectorAll("#index > li")) {
              item.hidden = !item.textContent.toLowerCase().includes(wanted);
              if (!item.hidden) found += 1;
            }
            document.getElementById("found").textContent = wanted ? found + " found" : "";
          });
        })();

        """#
}
