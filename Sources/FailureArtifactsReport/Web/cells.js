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

// Other forms

const singleQuoted = (text) => "'" + text.replaceAll("'", "''") + "'";
const sqlName = (name) => '"' + name.replaceAll('"', '""') + '"';

/** Returns a value as an SQL literal. */
const sqlLiteral = (cell) => {
  const [kind, text] = parts(cell);
  return kind === "null" || kind === "absent" ? "NULL" : kind === "text" ? singleQuoted(text)
    : kind === "num" ? ({ Inf: "9e999", "-Inf": "-9e999" })[text] ?? text
    : "x" in Object(cell) ? `CAST(X'${cell.x}' AS TEXT)` : text;
};

/** Returns a value as a Swift literal. */
const swiftLiteral = (cell) => {
  const [kind, text] = parts(cell);
  if (kind === "null" || kind === "absent") return "nil";
  if (kind === "num") return ({ Inf: "Double.infinity", "-Inf": "-Double.infinity" })[text] ?? text;
  if (kind === "text") {
    return '"' + [...text].map((c) => c === "\\" ? "\\\\" : c === '"' ? '\\"' : c === "\n" ? "\\n"
      : hiddenCharacter.test(c) ? escaped(c) : c).join("") + '"';
  }
  return "Data([" + (cell.b ?? cell.x).replace(/../g, (hex) => "0x" + hex + ", ").slice(0, -2) + "])";
};

const jsonValue = (cell) => {
  const [kind, text] = parts(cell);
  if (kind === "null" || kind === "absent") return null;
  return kind === "num" && typeof cell === "number" ? cell : text;
};

/** The forms in which a row can be copied. */
const rowForms = {
  SQL: (table, row) => `INSERT INTO ${sqlName(table.name)} (${table.columns.map((c) => sqlName(c.name)).join(", ")}) ` +
    `VALUES (${row.map(sqlLiteral).join(", ")});`,
  JSON: (table, row) => JSON.stringify(Object.fromEntries(table.columns.map((c, i) => [c.name, jsonValue(row[i])]))),
  Swift: (table, row) =>
    `(${table.columns.map((c, i) => `${c.name.replace(/\W/g, "_")}: ${swiftLiteral(row[i])}`).join(", ")})`,
};

/** Returns a date for a number that is likely to be one, judged by its column's name; otherwise nothing. */
const dateOf = (cell, column) => {
  if (!isNumeric(cell) || !/(date|time|created|updated|modified|deleted|at|on|day|stamp)$/i.test(column.name)) return null;
  let seconds = Number(numeric(cell));
  // Milliseconds since 1970, seconds since 1970, or seconds since 2001 as Core Data has them.
  if (seconds > 1e11) seconds /= 1000; else if (seconds > 1e8 && seconds < 9e8) seconds += 978307200;
  if (seconds < 9.4e8 || seconds > 4.2e9) return null;
  return new Date(seconds * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC").replace("Z", " UTC");
};

/** Returns indented JSON for a text that is a JSON object or array; otherwise nothing. */
const jsonOf = (cell) => {
  if (typeof cell !== "string" || !/^\s*[[{]/.test(cell)) return null;
  try { return JSON.stringify(JSON.parse(cell), null, 2); } catch { return null; }
};

const pictureTypes = {
  "89504E47": "png",
  FFD8FF: "jpeg",
  "47494638": "gif",
  "52494646": "webp"
};

/** Returns the address of a picture for a blob that contains a whole one; otherwise nothing. */
const pictureOf = (cell) => {
  if (Object(cell) !== cell || !("b" in cell) || cell.b.length !== cell.n * 2) return null;
  const start = Object.keys(pictureTypes).find((bytes) => cell.b.startsWith(bytes));
  if (!start) return null;
  const bytes = cell.b.match(/../g).map((hex) => String.fromCharCode(parseInt(hex, 16))).join("");
  return `data:image/${pictureTypes[start]};base64,${btoa(bytes)}`;
};

/** Returns the bytes of a blob as lines of 16 with their characters. */
const hexLines = (cell) => {
  const bytes = (cell.b ?? cell.x).match(/../g) ?? [];
  const lines = [];
  for (let i = 0; i < bytes.length; i += 16) {
    const part = bytes.slice(i, i + 16);
    const text = part.map((hex) => { const c = parseInt(hex, 16); return c > 31 && c < 127 ? String.fromCharCode(c) : "."; });
    lines.push(i.toString(16).padStart(6, "0") + "  " + part.join(" ").padEnd(48) + " " + text.join(""));
  }
  return lines.join("\n");
};
