// Program: the tree of each program, with the share of all cycles that each part of it takes.

// What was folded, by program and node: the page is drawn anew with each choice.
const folded = new Set();

const MOST_LINES = 400;

function programTab(of) {
  const most = rowsShown("program", MOST_LINES);
  const room = { left: most };
  const names = of.programNames;
  const trees = names.map((name) => programTree(of, name, names.length > 1, room));
  return [
    tools(filterField("keep lines with …"), phaseLegend(of)),
    el("div", { class: "tree" }, ...trees),
    room.left < 0 ? moreButton("program", `The first ${thousands(most)} lines.`) : "",
  ];
}

// Numbers of the steps of a program by their rows, also of those that did not run, and which ran.
function numbersOf(of, program) {
  return once(of, "numbers of " + program, () => {
    const [numbers, ran] = [new Map(), new Map()];
    for (const { program: own, rows, n } of of.memory?.steps ?? [])
      if (own === program) for (const row of rows) numbers.set(row, n);
    of.steps.forEach(({ program: own, row }, place) => {
      if (own !== program) return;
      numbers.set(row, stepNumber(place));
      ran.set(row, place);
    });
    const numbersRan = new Set([...ran.keys()].map((row) => numbers.get(row)));
    return { numbers, ran, numbersRan };
  });
}

function programTree(of, program, isNamed, room) {
  const nodes = of.programs[program];
  const { numbers, ran, numbersRan } = numbersOf(of, program);
  const longest = Math.max(1, of.cycles ?? 0);
  const drawn = new Set();
  // Total of cycles by kind under a node; a function counts where it stands first.
  const times = once(of, "times of " + program, () => new Map());
  const timeUnder = (number, seen = new Set()) => {
    if (times.has(number)) return times.get(number);
    const [, , row, children] = nodes[number];
    const total = { cycles: 0 };
    const step = children.length ? undefined : ran.get(row);
    seen.add(number);
    if (step !== undefined)
      Object.assign(total, timeOf(of, -1, step), { cycles: of.steps[step].cycles });
    for (const child of children) {
      if (seen.has(child)) continue;
      for (const [kind, cycles] of Object.entries(timeUnder(child, seen)))
        total[kind] = (total[kind] ?? 0) + cycles;
    }
    times.set(number, total);
    return total;
  };
  const found = new Map();
  const holds = (number) => {
    const [type, name, , children, at] = nodes[number];
    if (!found.has(number)) found.set(number, matches(name, type, at) || children.some(holds));
    return found.get(number);
  };
  const make = (number, depth) => {
    if (room.left-- <= 0) return "";
    const [type, name, row, children, at, role, count] = nodes[number];
    const step = children.length ? undefined : ran.get(row);
    const own = children.length ? "" : (numbers.get(row) ?? "");
    const { cycles, ...time } = timeUnder(number);
    // Such an action is named for what it is, for example WriteUndef.
    const isAction = type === "HostAction" || type === "Mark";
    const words = [
      soft(own && own + "  ", (role ? role + ": " : "") + (isAction ? "" : type + " ")),
      number || !isNamed ? name : program,
    ];
    if (step !== undefined) words.push(soft(` × ${thousands(of.steps[step].times)}`));
    else if (own && of.run && !isAction && !numbersRan.has(own)) words.push(soft(" not run"));
    else if (count > 1) words.push(soft(` × ${thousands(count)}`));
    const isRef = type === "Call" && drawn.has(children[0]);
    const isInside = children.length > 0 && !isRef;
    const line = [
      el("span", { class: "name" }, ...words),
      el("span", { class: "wide" }, lineOf(at, !isInside)),
    ];
    const cost = of.steps.length
      ? [
          stackBar(timeParts(time), longest, "thin"),
          el("span", { class: "percent" }, cycles ? shareOf(cycles, of.cycles) : ""),
        ]
      : [];
    // Far inside, where little room is left, lines are moved less.
    const style = `--far:${depth > 40 || !depth ? 0 : depth > 8 ? 0.2 : 1}`;
    if (isRef) {
      const show = (event) => showFunction(event, `${program} ${children[0]}`);
      const up = el("a", { href: "#", onclick: show }, "↑ ");
      return el("div", { class: "leaf", style }, up, ...line);
    }
    if (!isInside) {
      const isOn = step !== undefined && step === chosenStep();
      const choose = chooses(() => step !== undefined && go({ step }));
      return el("div", { class: "leaf" + (isOn ? " on" : ""), style, ...choose }, ...line, ...cost);
    }
    const id = `${program} ${number}`;
    const open = Boolean(state.q) || !folded.has(id);
    const parts = [];
    for (const child of children) {
      if (!holds(child)) continue;
      drawn.add(child);
      if (open) parts.push(make(child, depth + 1));
    }
    const summary = { onclick: fold, "data-focus": "fold " + id };
    return el("details", { open, id, style }, el("summary", summary, ...line, ...cost), ...parts);
  };
  return holds(0) ? make(0, 0) : el("div");
}

// Folds or unfolds; a filter shows what it finds, folded or not.
function fold(event) {
  event.preventDefault();
  const { id } = event.currentTarget.parentElement;
  if (state.q) return;
  if (!folded.delete(id)) folded.add(id);
  render();
}

function showFunction(event, id) {
  event.preventDefault();
  const place = () => document.getElementById(id);
  if (place()) folded.delete(id);
  else folded.clear();
  render();
  place()?.scrollIntoView({ block: "center" });
  place()?.querySelector("summary").focus();
}
