// The data of the page: JSON, and one compressed block of arrays, in which its code lies as well.

"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
let BLOCK = null;

async function unpackBlock() {
  const text = atob(document.getElementById("block").textContent.trim());
  const packed = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  BLOCK = await new Response(stream).arrayBuffer();
}

function textOf(found) {
  const [, begin, count] = DATA.table[found.a];
  return new TextDecoder().decode(new Uint8Array(BLOCK, begin, count));
}

async function boot() {
  await unpackBlock();
  const script = document.createElement("script");
  script.textContent = textOf(DATA.script);
  document.body.append(script);
}

boot().catch((error) => {
  const words = `This page needs a browser that can unpack gzip, as all can since 2023: ${error}`;
  document.getElementById("view").append(words);
});
