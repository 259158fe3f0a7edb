// Values of a store: text, order, and other forms.

// Control characters, and characters that turn the direction of the text after them, are shown as escapes.
const hiddenCharacter = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
const escapes = {
  "\t": "\\t",
  "\r": "\\r"
};
const escaped = (c) => escapes[c] || "\\u{" + c.codePointAt(0).toString(16) + "}";

/** Returns the class and the text of a value, and the size of the whole value if the text is only its beginning. */
const parts = (cell) => {
  if (cell === undefined) return ["absent", ""];
  if (cell === null) return ["null", "NULL"];
  if (typeof cell === "number") return ["num", String(cell)];
  if (typeof cell === "string") return ["text", cell];
  if ("i" in cell) return ["num", cell.i];
  if ("r" in cell) return ["num", cell.r];
  if ("t" in cell) return ["text", cell.t, cell.n];
  if ("x" in cell) return ["blob", "text X'" + cell.x + "'", cell.n * 2 > cell.x.length ? cell.n : 0];
  return ["blob", "X'" + cell.b + "'", cell.n * 2 > cell.b.length ? cell.n : 0];
};

const plainText = (cell) => parts(cell)[1];
const isNumeric = (cell) => parts(cell)[0] === "num";

/** Returns true if a row has a text, given in lower case. */
const rowContains = (cells, text) => cells.some((cell) => plainText(cell).toLowerCase().includes(text));

/** Adds a value to an element, cut to a number of characters. */
const fill = (element, cell, limit = Infinity) => {
  const [kind, whole, bytes] = parts(cell);
  element.classList.add("v-" + kind);
  if (kind === "text") element.dir = "auto";
  const text = whole.length > limit ? whole.slice(0, limit) + "…" : whole;
  let plain = "";
  for (const c of text) {
    if (!hiddenCharacter.test(c)) { plain += c; continue; }
    element.append(plain, make("span", "escape", escaped(c)));
    plain = "";
  }
  element.append(plain);
  if (bytes) element.append(make("span", "rest", "… " + number(bytes) + " bytes"));
  return element;
};

// Order: as SQLite sorts: NULL, numbers, texts, blobs.
const rank = (cell) => {
  if (cell === null || cell === undefined) return 0;
  const kind = parts(cell)[0];
  return kind === "num" ? 1 : kind === "text" || "x" in Object(cell) ? 2 : 3;
};
const numeric = (cell) => typeof cell === "number" ? cell :
  "i" in cell                                      ? BigInt(cell.i) :
  cell.r === "Inf"                                 ? Infinity :
  cell.r === "-Inf"                                ? -Infinity :
                                                     Number(cell.r);
const content = (cell) => typeof cell === "string" ? cell : cell.t ?? cell.x ?? cell.b;

// By code points, where JavaScript compares UTF-16.
const compareTexts = (a, b) => {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i += 1;
  const x = i < a.length ? a.codePointAt(i) : -1;
  const y = i < b.length ? b.codePointAt(i) : -1;
  return x - y;
};

const compareCells = (a, b) => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const order = rank(a);
  if (order !== rank(b)) return order - rank(b);
  if (order === 0) return 0;
  if (order === 1) { const x = numeric(a), y = numeric(b); return x < y ? -1 : x > y ? 1 : 0; }
  return compareTexts(content(a), content(b));
};

/** Returns true if two values of the page are the same. */
const sameCell = (a, b) => a === b || (Object(a) === a && JSON.stringify(a) === JSON.stringify(b));

/** Returns indented JSON for a text that is a JSON object or array; otherwise nothing. */
const jsonOf = (cell) => {
  if (typeof cell !== "string" || !/^\s*[[{]/.test(cell)) return null;
  try { return JSON.stringify(JSON.parse(cell), null, 2); } catch { return null; }
};
