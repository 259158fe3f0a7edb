// Elements and the page's compressed data.

/** Creates an element. The text is never read as markup. */
const make = (name, className, ...content) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...content.filter((part) => part !== undefined && part !== null));
  return element;
};

/** Returns a name with the places between its words at which it may be broken. */
const breakable = (name) =>
  name.split(/(?<=\p{Ll})(?=\p{Lu})|(?<=[._/])(?=\p{L})/u).flatMap((word, i) => i ? [make("wbr"), word] : [word]);

/** Creates a button that runs an action. */
const button = (className, text, action) => {
  const element = make("button", className, text);
  element.type = "button";
  element.addEventListener("click", action);
  return element;
};

const number = (count) => count.toLocaleString("en");
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

const unpacked = new Map();

/** Returns the content of a block: Base64 of zlib data with JSON. Each block is unpacked once. */
const block = (id) => {
  if (!unpacked.has(id)) unpacked.set(id, unpack(id));
  return unpacked.get(id);
};

const unpack = async (id) => {
  // Most blocks come after the script.
  if (!document.getElementById(id) && document.readyState === "loading")
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done, {once: true}));
  const encoded = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(encoded.length);
  for (let i = 0; i < encoded.length; i += 1) bytes[i] = encoded.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
};
