"use strict";
// A part of the picture is chosen by a click or the arrow keys; what it is stands below.
const figure = document.querySelector("figure");
const pane = document.getElementById("chosen");
const picture = new XMLSerializer().serializeToString(figure.querySelector("svg"));
const numbers = document.getElementById("data");
const parts = [...figure.querySelectorAll("svg title")].map((title) => {
  const shape = title.parentNode;
  const box = shape.getBBox();
  shape.dataset.tip = title.textContent;
  return { shape, x: box.x + box.width / 2, y: box.y + box.height / 2 };
});
let chosen = null;

function choose(part) {
  if (chosen) chosen.shape.classList.remove("chosen");
  chosen = part;
  part.shape.classList.add("chosen");
  part.shape.scrollIntoView({ block: "nearest", inline: "nearest" });
  pane.textContent = part.shape.dataset.tip;
  pane.classList.remove("idle");
}

// The nearest part that way; what lies aside counts three times as far.
function neighbour([right, down]) {
  let best = null, least = Infinity;
  for (const part of parts) {
    const dx = part.x - chosen.x, dy = part.y - chosen.y;
    const ahead = dx * right + dy * down, aside = Math.abs(dx * down) + Math.abs(dy * right);
    if (ahead > 0.5 && ahead + 3 * aside < least) [best, least] = [part, ahead + 3 * aside];
  }
  return best;
}

const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

if (parts.length) {
  pane.hidden = false;
  figure.tabIndex = 0;
  figure.addEventListener("click", (event) => {
    const under = document.elementsFromPoint(event.clientX, event.clientY);
    const part = parts.find((each) => under.includes(each.shape));
    if (part) choose(part);
  });
  figure.addEventListener("keydown", (event) => {
    const within = parts.filter((each) => !each.shape.closest(".aside"));
    const ends = { Home: within[0], End: within[within.length - 1] };
    const way = WAYS[event.key];
    const next = ends[event.key] || (way && (chosen ? neighbour(way) : parts[0]));
    if (!way && !ends[event.key]) return;
    event.preventDefault();
    if (next) choose(next);
  });
}

function offer(label, file, type, text) {
  const button = document.createElement("button");
  button.textContent = label;
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = file;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  document.getElementById("save").append(button);
}

offer("Save picture (SVG)", "poplite.svg", "image/svg+xml", picture);
if (numbers) offer("Save numbers (JSON)", "poplite.json", "application/json", numbers.textContent);
