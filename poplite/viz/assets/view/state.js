// What is chosen: one object, kept in the address, so that a link shows what its sender saw.

const TABS = [
  ...["overview", "tiles", "memory", "liveness", "steps"],
  ...["exchange", "program", "variables", "graph"],
  ...(DATA.reports.length > 1 ? ["compare"] : []),
  "source",
];

const BY = {
  memory: "memory",
  live: "not always live",
  busy: "busy cycles",
  compute: "compute cycles",
  waited: "cycles waited",
  copied: "bytes copied on tile",
  received: "bytes received",
  sent: "bytes sent",
  vertices: "vertices",
};

// Words that a choice may have; the first is its default, and stays out of the address.
const CHOICES = {
  tab: DATA.reports.length > 1 ? ["compare", ...TABS] : TABS,
  by: Object.keys(BY),
  from: ["", "zero", "least"],
  rows: ["number", "most"],
  height: ["fullest", "limit"],
  live: ["beside", "all"],
  run: ["once", "times", "ran"],
  of: ["after", "before"],
};

// Numbers from 0, and texts; empty by default.
const NUMBERS = ["tile", "step", "held"];
const TEXTS = ["sort", "zoom", "win", "q", "line"];

const state = { unit: "bytes" };

// Takes over the address; what it lacks or gets wrong becomes the default.
function readAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  for (const [name, words] of Object.entries(CHOICES)) {
    state[name] = words.includes(found.get(name)) ? found.get(name) : words[0];
  }
  for (const name of TEXTS) state[name] = found.get(name) ?? "";
  for (const name of NUMBERS) {
    const text = found.get(name);
    state[name] = /^-?\d+$/.test(text ?? "") ? Math.max(0, Number(text)) : null;
  }
  // The address has the number of the step, as the page and the commands write it.
  const { steps } = report();
  if (state.step !== null)
    state.step = Math.max(
      0,
      steps.findLastIndex((_, place) => stepNumber(place) <= state.step),
    );
}

function address() {
  const parts = new URLSearchParams();
  for (const [name, words] of Object.entries(CHOICES)) {
    if (state[name] !== words[0]) parts.set(name, state[name]);
  }
  for (const name of NUMBERS) {
    if (state[name] !== null)
      parts.set(name, name === "step" ? stepNumber(state.step) : state[name]);
  }
  for (const name of TEXTS) if (state[name]) parts.set(name, state[name]);
  return "#" + parts;
}

// Changes what is chosen, and shows it: another tab is a new page of the history, and what is
// filtered and sorted in one stays there.
function go(changes) {
  const before = state.tab;
  if ((changes.tab ?? before) !== before) state.q = state.sort = "";
  Object.assign(state, changes);
  if (state.tab !== before) {
    history.pushState(null, "", address());
    scrollTo(0, 0);
  } else history.replaceState(null, "", address());
  render();
}

// The chosen tile: at first the fullest, or where memory is not modelled the busiest.
function chosenTile() {
  const of = report();
  if (state.tile !== null) return Math.min(state.tile, of.machine.tiles - 1);
  return of.memory ? worst(peaks(of).needed) : worst(phaseSum(of, "busy", -1));
}

// The chosen step by its position, -1 for none.
function chosenStep() {
  const { steps } = report();
  return state.step === null || !steps.length ? -1 : Math.min(state.step, steps.length - 1);
}

// A range such as "20-40" within 0 and `end`; all of it where the text is none.
function rangeOf(text, end) {
  const found = /^(\d+)-(\d+)$/.exec(text);
  if (!found) return [0, end];
  const first = Math.min(Number(found[1]), Math.max(0, end - 1));
  return [first, Math.max(first + 1, Math.min(Number(found[2]), end))];
}

// The number of a step over all programs; of its place where an older report has none.
const stepNumber = (place) => report().steps[place]?.n || place + 1;

function stepTitle(number) {
  const of = report();
  const step = of.steps[number];
  const several = once(of, "programs", () => new Set(of.steps.map((each) => each.program)).size);
  return (several > 1 ? step.program + " / " : "") + step.name;
}
