// The data of the page: one compressed block of arrays, the code and, from `begin` on, JSON.

"use strict";
let [DATA, BLOCK] = [null, null];

// Data with its texts: one that is said often is a number among the words.
function withWords(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(withWords);
  if ("w" in value) return DATA.words[value.w];
  for (const name in value) value[name] = withWords(value[name]);
  return value;
}

async function unpackBlock() {
  const text = atob(document.getElementById("block").textContent.trim());
  const packed = new Uint8Array(text.length); // Uint8Array.from takes fifteen times as long
  for (let at = 0; at < text.length; at++) packed[at] = text.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  BLOCK = await new Response(stream).arrayBuffer();
  const { begin } = JSON.parse(document.getElementById("data").textContent);
  DATA = JSON.parse(new TextDecoder().decode(new Uint8Array(BLOCK, begin)));
  DATA.reports = DATA.reports.map(withWords);
}

function textOf(found) {
  const [, begin, count] = DATA.table[found.a];
  return new TextDecoder().decode(new Uint8Array(BLOCK, begin, count));
}

async function boot() {
  await unpackBlock();
  for (const name of ["style", "script"]) {
    const made = document.createElement(name);
    made.textContent = textOf(DATA[name]);
    document.body.append(made);
  }
}

boot().catch((error) => {
  const words = `This page needs a browser that can unpack gzip, as all can since 2023: ${error}`;
  document.getElementById("view").append(words);
});
