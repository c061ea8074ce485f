// Numbers and names as words, and elements of the page.
// Numbers are written by hand: toLocaleString depends on the reader's place, and is slow.

// What time is spent on, by kind, as all pictures call it.
const PHASES = Object.fromEntries(DATA.time);

const PHASE_KINDS = ["compute", "copy", "exchange", "global exchange", "host exchange"];

// A part of time: while vertices compute, workers work or are idle.
const partWords = (part) => (part === "compute" ? "work" : PHASES[part]);

// Groups of memory by the kinds of things in them; what is in none of them is "other".
const GROUPS = Object.fromEntries(DATA.kinds);
const GROUP_NAMES = DATA.kinds.map(([name]) => name);
const GAPS = GROUP_NAMES.length - 1;

function groupOf(kind) {
  const found = GROUP_NAMES.findIndex((name) => GROUPS[name].includes(kind));
  return found < 0 ? GAPS - 1 : found;
}

function thousands(number) {
  const [whole, part] = String(Math.abs(number)).split(".");
  const grouped = whole.includes("e") ? whole : whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return (number < 0 ? "−" : "") + grouped + (part ? "." + part : "");
}

// A number with at most one digit after the point.
const rounded = (number) => thousands(Math.round(number * 10) / 10);

function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1 %";
  return (Math.round(share * 1000) / 10).toFixed(1) + " %";
}

const shareOf = (part, whole) => percent(whole ? part / whole : 0);

function bytesText(bytes) {
  if (state.unit !== "KiB") return rounded(bytes) + " B";
  return thousands(Number((bytes / 1024).toFixed(1))) + " KiB";
}

const amount = (number, one) => thousands(number) + " " + one + (number === 1 ? "" : "s");

function duration(cycles, clock) {
  const seconds = cycles / clock;
  const units = Object.entries({ s: 1, ms: 1e3, µs: 1e6, ns: 1e9 });
  const [unit, scale] = units.find(([, scale]) => seconds * scale >= 1) ?? units[3];
  return Number((seconds * scale).toPrecision(3)) + " " + unit;
}

const shortened = (text, most) => (text.length <= most ? text : text.slice(0, most - 1) + "…");

// A number between two others; where these are the wrong way round, the lower one.
const clip = (number, low, high) => Math.max(low, Math.min(high, number));

// -- elements ------------------------------------------------------------------------------

// Returns an element; text is never read as HTML.
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child || child === 0));
  return made;
}

const soft = (...children) => el("span", { class: "soft" }, ...children);
const bold = (text) => el("b", {}, text);
const heading = (...children) => el("h3", {}, ...children);
const note = (...children) => el("p", { class: "note" }, ...children);
const para = (...children) => el("p", {}, ...children);
const remark = (...children) => el("p", { class: "soft" }, ...children);
const labelled = (words, part) => el("label", { class: "labelled" }, soft(words), part);
const swatch = (color) => el("i", { class: "swatch", style: `background:var(--${color})` });
const button = (label, onclick, attributes = {}) => el("button", { onclick, ...attributes }, label);

// What is chosen by a click, or by Enter where it has the focus.
const chooses = (choose) => ({
  tabindex: 0,
  onclick: choose,
  onkeydown: (event) => event.key === "Enter" && choose(event),
});

// A row of a plain table; a cell is what stands in it, or [class, what stands in it ...].
const rowOf = (...cells) =>
  el(
    "tr",
    {},
    ...cells.map((cell) =>
      Array.isArray(cell)
        ? el("td", { class: cell[0] || null }, ...cell.slice(1))
        : el("td", {}, cell),
    ),
  );
const bodyOf = (rows) => el("tbody", {}, ...rows);

const kindOf = (held) => held.kind.replaceAll("_", " ");

// A line of source as file:line, without the folder that all lines share.
const placeOf = (at) => at.replace(/(:\d+) .*/, "$1").replace(commonFolder(), "");

// The same, which shows all of it where it is pointed at, with its function and what called that;
// a button copies it, except within what is a button itself.
function lineOf(at, copies = true) {
  if (!at) return "";
  const copy = el(
    "button",
    { class: "copy", title: "Copy " + at, "aria-label": "Copy the line " + at },
    "copy",
  );
  copy.addEventListener("click", (event) => {
    event.stopPropagation();
    copyText(at).then(() => (copy.textContent = "copied"));
    setTimeout(() => (copy.textContent = "copy"), 900);
  });
  return el("span", { class: "at", title: at }, placeOf(at), copies && copy);
}

// Pages from disk may lack the clipboard: a field that is copied from does as well.
async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const field = el("textarea", { style: "position:fixed;opacity:0" });
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
