// The frame: tabs, verdict, keys, theme; draws all of the page anew when something is chosen.

// What a tab shows, what it needs of a report, and its name for readers.
const RUN = [
  [(of) => of.modelled, notModelled],
  [(of) => of.steps.length, nothingRan],
];
const MEMORY = [[(of) => of.memory, notModelled]];
const SHOWN = {
  overview: [overview],
  tiles: [tilesTab],
  memory: [memoryTab, ...MEMORY],
  liveness: [livenessTab, ...MEMORY, [(of) => of.memory.steps.length, nothingRan]],
  steps: [stepsTab, ...RUN],
  exchange: [exchangeTab, ...RUN],
  program: [programTab],
  variables: [variablesTab, ...MEMORY],
  graph: [graphTab],
  source: [sourceTab, RUN[0], [(of) => linesOf(of).size, nothingRan]],
  compare: [compareTab],
};
const nameOf = (tab) => tab[0].toUpperCase() + tab.slice(1);

// The parts of a tab, or the sentence that says what it lacks.
function shownIn(tab, of) {
  const [draw, ...needs] = SHOWN[tab];
  const missing = needs.find(([isThere]) => !isThere(of));
  return missing ? [missing[1]()] : draw(of).filter((part) => part !== "");
}

const KEYS = [
  ["1 … 9, 0, s", "the tabs"],
  ["/", "find a step, variable, operation, line or tile"],
  ["j  k", "next and last step"],
  ["[  ]", "tile before and next tile"],
  ["arrows", "move in the map of tiles, when it has the focus"],
  ["u", "bytes or KiB"],
  ["d", "light or dark"],
  ["Esc", "no step"],
  ["drag", "look closer at tiles or time; double click shows all again"],
  ["wheel  + −  ← →", "closer, further, back and on in time; over it, or when it has the focus"],
  ["Shift wheel  PgUp  PgDn  ↑ ↓", "the same of its tiles; Shift and drag moves both"],
  ["?", "this help"],
];

let WIDTH = 900;

const byId = (id) => document.getElementById(id);

function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

function render() {
  const of = report();
  const view = byId("view");
  const focus = document.activeElement?.dataset?.focus;
  const caret = document.activeElement?.selectionStart ?? null;
  const place = [scrollX, scrollY];
  const padding = 2 * parseFloat(getComputedStyle(view).paddingLeft);
  WIDTH = Math.max(260, Math.floor(view.clientWidth - padding));
  showParts(view, shownIn(state.tab, of));
  view.setAttribute("aria-label", nameOf(state.tab));
  byId("tab").textContent = nameOf(state.tab);
  byId("side").replaceChildren(...side(of));
  byId("tabs").replaceChildren(...tabButtons());
  showTab(byId("tabs").querySelector('[aria-selected="true"]'));
  byId("units").textContent = state.unit;
  verdict(of);
  which();
  focusAgain(focus, caret);
  scrollTo(...place);
}

// Puts parts in place of those that are there; one that was kept stays where it is, laid out.
function showParts(view, parts) {
  for (const old of [...view.childNodes]) if (!parts.includes(old)) old.remove();
  parts.forEach((part, number) => {
    if (view.childNodes[number] !== part) view.insertBefore(part, view.childNodes[number] ?? null);
  });
}

// All is drawn anew: what had the focus has it again, with the caret where it was.
function focusAgain(name, caret) {
  const found =
    name &&
    [...document.querySelectorAll("[data-focus]")].find((each) => each.dataset.focus === name);
  if (!found) return;
  found.focus({ preventScroll: true });
  if (caret !== null && found.type === "search") found.setSelectionRange(caret, caret);
}

// On a narrow screen the tabs scroll sideways: the open one stands in the middle.
function showTab(tab) {
  const { parentElement: tabs, offsetLeft, offsetWidth } = tab;
  tabs.scrollLeft = offsetLeft - tabs.offsetLeft - (tabs.clientWidth - offsetWidth) / 2;
}

function tabButtons() {
  return TABS.map((tab, number) => {
    const attributes = {
      role: "tab",
      "aria-selected": String(tab === state.tab),
      "aria-controls": "view",
      tabindex: tab === state.tab ? 0 : -1,
      "data-focus": "tab " + tab,
    };
    const key = el("kbd", {}, tab === "source" ? "s" : (number + 1) % 10);
    return button([nameOf(tab), key], () => go({ tab }), attributes);
  });
}

// Arrows turn the tabs where one of them has the focus, which goes with them.
function onTabKey(event) {
  const [last, open] = [TABS.length - 1, TABS.indexOf(state.tab)];
  const [before, next] = [open ? open - 1 : last, open < last ? open + 1 : 0];
  const tab = TABS[{ ArrowLeft: before, ArrowRight: next, Home: 0, End: last }[event.key]];
  if (!tab) return;
  event.preventDefault();
  go({ tab });
  byId("tabs").querySelector('[aria-selected="true"]').focus();
}

function verdict(of) {
  const shown = byId("verdict");
  const over = of.memory ? peaks(of).needed.filter((bytes) => bytes > of.machine.limit).length : 0;
  const parts = [
    !of.memory
      ? "memory not modelled"
      : over
        ? `! does not fit: ${amount(over, "tile")} over`
        : of.fits,
  ];
  if (of.note && !of.fits.includes(of.note)) parts.push(of.note);
  if (of.rough > 1) parts.push(of.rough > 2 ? "blocks of tiles" : "tiles to three digits");
  if (of.replicas > 1) parts.push(`of one of ${of.replicas} replicas`);
  shown.textContent = parts.join(" · ");
  shown.className = over ? "over" : "";
}

function which() {
  if (DATA.reports.length > 1)
    byId("which").replaceChildren(
      choice("", "of", { before: DATA.names[0], after: DATA.names[1] }),
    );
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  COLORS = new Map();
}

function turnTheme() {
  setTheme(isDark() ? "light" : "dark");
  render();
}

function turnUnits() {
  state.unit = state.unit === "bytes" ? "KiB" : "bytes";
  render();
}

function showHelp() {
  const rows = KEYS.map(([key, words]) => rowOf(el("kbd", {}, key), words));
  const close = button("close", () => byId("help").close());
  const words =
    "The address of the page keeps what is chosen: a link shows what you see. " +
    "Numbers are of all executions, unless it says once.";
  byId("help").replaceChildren(
    el("h2", {}, "Help"),
    remark(words),
    el("table", {}, bodyOf(rows)),
    close,
  );
  byId("help").showModal();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const of = report();
  const step = chosenStep();
  const { tiles } = of.machine;
  const keys = {
    "/": () => byId("find").focus(),
    j: () => of.steps.length && go({ step: Math.min(of.steps.length - 1, step + 1) }),
    k: () => of.steps.length && go({ step: Math.max(0, step - 1) }),
    "[": () => go({ tile: (chosenTile() - 1 + tiles) % tiles }),
    "]": () => go({ tile: (chosenTile() + 1) % tiles }),
    s: () => go({ tab: "source" }),
    u: turnUnits,
    d: turnTheme,
    Escape: () => go({ step: null }),
    "?": showHelp,
  };
  const tab = /^\d$/.test(event.key) ? TABS.slice(0, -1)[(Number(event.key) + 9) % 10] : null;
  const action = tab ? () => go({ tab }) : keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function start() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  readAddress();
  setUpFinder();
  byId("units").addEventListener("click", turnUnits);
  byId("theme").addEventListener("click", turnTheme);
  byId("keys").addEventListener("click", showHelp);
  document.addEventListener("keydown", onKey);
  byId("tabs").addEventListener("keydown", onTabKey);
  addEventListener("popstate", () => {
    readAddress();
    render();
  });
  // Paper is light.
  let screen = "light";
  addEventListener("beforeprint", () => {
    screen = document.documentElement.dataset.theme;
    setTheme("light");
    render();
  });
  addEventListener("afterprint", () => {
    setTheme(screen);
    render();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    render();
  });
  render();
  document.documentElement.dataset.ready = "";
}

start();
