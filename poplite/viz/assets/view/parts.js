// Parts that several tabs use: choices, bars of parts, legends, tables.

// Buttons of which one is pressed.
function choice(label, name, words) {
  const buttons = Object.entries(words).map(([word, shown]) =>
    button(shown, () => go({ [name]: word }), {
      "aria-pressed": String(state[name] === word),
      "data-focus": `${name} ${word}`,
    }),
  );
  const group = el(
    "span",
    { class: "choice", role: "group", "aria-label": label || name },
    ...buttons,
  );
  return label ? el("span", { class: "labelled" }, soft(label), group) : group;
}

function stepChoice(label, none) {
  const pick = ({ target }) => go({ step: target.value === "" ? null : Number(target.value) });
  const select = kept("step choice", [label, none], () => {
    const options = report().steps.map((_, place) =>
      el("option", { value: place }, `${stepNumber(place)} ${shortened(stepTitle(place), 50)}`),
    );
    const all = el("option", { value: "" }, none);
    return el("select", { onchange: pick, "data-focus": label }, all, ...options);
  });
  select.value = chosenStep() < 0 ? "" : chosenStep();
  return labelled(label, select);
}

function filterField(label) {
  const type = (event) => go({ q: event.target.value });
  const field = { type: "search", placeholder: label, "aria-label": label, "data-focus": label };
  return el("input", { ...field, value: state.q, oninput: type });
}

// Something dear that is made again only when what it shows, its key, has changed.
const KEPT = new Map();

function kept(name, key, make) {
  const words = [state.of, isDark(), state.unit, ...MORE.values(), ...key].join(" ");
  if (KEPT.get(name)?.words !== words) KEPT.set(name, { words, made: make() });
  return KEPT.get(name).made;
}

// Many rows are drawn in parts: how often the button below them was pressed, which draws more.
const MORE = new Map();
const rowsShown = (key, first) => first * (1 + (MORE.get(key) ?? 0));

function moreButton(key, words) {
  const more = () => {
    MORE.set(key, (MORE.get(key) ?? 0) + 1);
    render();
  };
  return remark(words + " ", button("show more", more, { "data-focus": "more " + key }));
}

const tools = (...parts) => el("div", { class: "tools" }, ...parts);

// A bar of parts [label, amount, colour], to a scale where one is given.
function stackBar(parts, whole = 0, shape = "stack") {
  const total = whole || parts.reduce((before, part) => before + part[1], 0);
  const shown = parts.filter((part) => part[1] > 0);
  const pieces = shown.map(([label, size, fill]) =>
    el(
      "i",
      {
        style: `width:${(100 * size) / (total || 1)}%;background:var(--${fill})`,
        title: `${label} ${shareOf(size, total)}`,
        class: fill === "over" && fill,
      },
      fill === "over" ? "!" : "",
    ),
  );
  const words = shown.map(([label, size]) => `${label} ${shareOf(size, total)}`).join(", ");
  return el("div", { class: shape, role: "img", "aria-label": words || "nothing" }, ...pieces);
}

// A bar of what a tile holds: what is past its memory is vermilion, behind a line at the limit.
function memoryBar(held, limit) {
  let room = limit;
  const inside = held.map(([label, size, fill]) => {
    const fits = Math.min(size, room);
    room -= fits;
    return [label, fits, fill];
  });
  const over = held.reduce((total, part) => total + part[1], 0) - limit;
  return stackBar(over > 0 ? [...inside, ["! over the limit", over, "over"]] : held);
}

function legend(parts, total = 0) {
  return el(
    "div",
    { class: "legend" },
    ...parts.map(([label, size, fill]) => {
      const share = total ? [" ", bold(shareOf(size, total))] : [];
      return el("span", {}, swatch(fill), label, ...share);
    }),
  );
}

const phaseColor = (kind) => "phase-" + kind.replace(" ", "-");
const phaseLegend = (of, kinds = Object.keys(PHASES), words = partWords) =>
  legend(
    kinds
      .filter((kind) => of.steps.length && timeOf(of, -1, -1)[kind] > 0)
      .map((kind) => [words(kind), 0, phaseColor(kind)]),
  );

// Parts of time, [words, cycles, colour], without those that are nothing.
function timeParts(time) {
  return Object.entries(time)
    .filter(([, cycles]) => cycles > 0)
    .map(([kind, cycles]) => [partWords(kind), cycles, phaseColor(kind)]);
}

// Parts of memory, [group, bytes, colour]; `take` makes one number of those of all tiles.
const memoryParts = (of, take) =>
  stacks(of)
    .map((group, number) => [GROUP_NAMES[number], take(group), "memory-" + number])
    .filter((part) => part[1] > 0);

// Phases of a step as a tile spends them on average, so that the bar is as long as the step.
function phaseBar(of, step, whole, divide = 1) {
  const parts = timeParts(timeOf(of, -1, step)).map(([label, cycles, fill]) => [
    label,
    cycles / divide,
    fill,
  ]);
  return stackBar(parts, whole, "thin");
}

// Columns of numbers, which a click on the head may sort by; of lines; of things in memory.
const counted = (name, number, words = thousands, more = {}) => ({
  name,
  number: true,
  text: (row) => words(number(row)),
  ...more,
});
const sortable = (name, number, words, more) =>
  counted(name, number, words, { sort: number, ...more });
const shareColumn = (of, cycles, more) =>
  counted("of all", cycles, (number) => shareOf(number, of.cycles), more);
// Columns that a narrow page leaves out, and those that one of middle width does too.
const NARROW = { wide: true };
const BROAD = { wide: true, broad: true };
const lineColumn = (at) => ({ name: "line", text: (row) => lineOf(at(row)), ...BROAD });
const slimKind = (held) =>
  held.name.startsWith(kindOf(held)) ? "" : el("span", { class: "soft slim" }, " " + kindOf(held));
const heldColumns = (held) => [
  {
    name: "what",
    label: true,
    text: (row) => [
      swatch("memory-" + groupOf(held(row).kind)),
      held(row).name,
      slimKind(held(row)),
    ],
  },
  { name: "kind", text: (row) => kindOf(held(row)), words: true, ...BROAD },
];

// A table.  Columns are {name, text, number, sort, wide}; `text` makes the content of a cell of a
// row, `sort` its number, by which the table is sorted where its head is clicked.  Columns that are
// `wide` are left out on narrow screens, `broad` ones on those of middle width as well; `words` are
// not broken.  Rows that `picks` are picked by a click: all, unless it says which.
function table(columns, rows, options = {}) {
  const { pick, picks = () => pick, isOn, isPale, sorted = "", most: first = 400 } = options;
  const key = [state.tab, ...columns.map((column) => column.name)].join(" ");
  const limit = rowsShown(key, first);
  const named = (name) => columns.find((column) => column.sort && column.name === name);
  const by = named(state.sort) ?? named(sorted);
  const ordered = by ? descending(rows, by.sort) : rows;
  const place = (column) =>
    ["number", "wide", "broad", "label", "words"].filter((name) => column[name]).join(" ");
  const heads = columns.map((column) => {
    const label = column.name + (column === by ? " ↓" : "");
    const sort = () => go({ sort: state.sort === column.name ? "" : column.name });
    const inside = column.sort ? button(label, sort, { class: "head" }) : label;
    return el("th", { class: place(column), scope: "col" }, inside);
  });
  const body = ordered.slice(0, limit).map((row, number) => {
    const cells = columns.map((column) => el("td", { class: place(column) }, column.text(row)));
    const classes = [isOn?.(row) && "on", isPale?.(row) && "pale"].filter(Boolean).join(" ");
    const picked = (event) =>
      event.type === "click" || event.target === event.currentTarget ? pick(row) : null;
    return el(
      "tr",
      {
        class: classes,
        ...(picks(row) && { ...chooses(picked), "data-go": true, "data-focus": "row " + number }),
      },
      ...cells,
    );
  });
  const more = ordered.length - limit;
  const rest = more > 0 ? moreButton(key, `… ${thousands(more)} more`) : "";
  return el(
    "div",
    { class: "table" },
    el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...body)),
    rest,
  );
}

function matches(...texts) {
  const asked = state.q.trim().toLowerCase();
  return !asked || texts.some((text) => text.toLowerCase().includes(asked));
}

// The sentence of a tab that has no numbers.
const notModelled = () =>
  note(
    "Cycles and memory are not modelled in this report: leave the option " +
      "debug.instrument=False out, and write the page again.",
  );
const nothingRan = () =>
  note("This report has no steps: give a target whose callable returns a graph and its program.");
