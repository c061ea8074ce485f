// Program: the tree of each program, with the share of all cycles that each part of it takes.

// What was folded, by program and node: the page is drawn anew with each choice.
const folded = new Set();

function programTab(of) {
  const names = Object.keys(of.programs);
  const trees = names.map((name) => programTree(of, name, names.length > 1));
  return [
    tools(filterField("keep lines with …"), phaseLegend(of)),
    el("div", { class: "tree" }, ...trees),
  ];
}

function programTree(of, program, isNamed) {
  const nodes = of.programs[program];
  const steps = new Map(
    of.steps
      .map((step, number) => [step.row, number])
      .filter(([, number]) => of.steps[number].program === program),
  );
  const stepOf = (node) => (node[3].length ? undefined : steps.get(node[2]));
  const longest = Math.max(1, of.cycles ?? 0);
  const drawn = new Set();
  // Total of cycles by kind under a node; a function counts where it stands first.
  const times = new Map();
  const timeUnder = (number, seen = new Set()) => {
    if (times.has(number)) return times.get(number);
    const total = { cycles: 0 };
    const step = stepOf(nodes[number]);
    seen.add(number);
    if (step !== undefined)
      Object.assign(total, timeOf(of, -1, step), { cycles: of.steps[step].cycles });
    for (const child of nodes[number][3]) {
      if (seen.has(child)) continue;
      for (const [kind, cycles] of Object.entries(timeUnder(child, seen)))
        total[kind] = (total[kind] ?? 0) + cycles;
    }
    times.set(number, total);
    return total;
  };
  const holds = (number) =>
    matches(nodes[number][1], nodes[number][0], nodes[number][4]) || nodes[number][3].some(holds);
  const make = (number) => {
    const [type, name, , children, at, role, count] = nodes[number];
    const step = stepOf(nodes[number]);
    const { cycles, ...time } = timeUnder(number);
    const words = [
      soft((role ? role + ": " : "") + type + " "),
      number || !isNamed ? name : program,
    ];
    if (step === undefined && count > 1) words.push(soft(` × ${thousands(count)}`));
    if (step !== undefined) words.push(soft(` × ${thousands(of.steps[step].times)}`));
    const line = el("span", { class: "name" }, ...words);
    const cost = of.steps.length
      ? [
          stackBar(timeParts(time), longest, "thin"),
          el("span", { class: "percent" }, cycles ? shareOf(cycles, of.cycles) : ""),
        ]
      : [];
    const row = [line, el("span", { class: "wide" }, lineOf(at)), ...cost];
    if (type === "Call" && drawn.has(children[0])) {
      return el(
        "div",
        { class: "leaf" },
        el("a", { href: `#`, onclick: (event) => showFunction(event, program, children[0]) }, "↑ "),
        ...row.slice(0, 2),
      );
    }
    if (!children.length) {
      const isOn = step !== undefined && step === chosenStep();
      return el(
        "div",
        {
          class: "leaf" + (isOn ? " on" : ""),
          ...chooses(() => step !== undefined && go({ step })),
        },
        ...row,
      );
    }
    const parts = [];
    for (const child of children) {
      if (!holds(child)) continue;
      drawn.add(child);
      parts.push(make(child));
    }
    const id = `${program} ${number}`;
    const isOpen = Boolean(state.q) || !folded.has(id);
    return el(
      "details",
      { open: isOpen, id },
      el("summary", { onclick: keepFolded }, ...row),
      ...parts,
    );
  };
  return holds(0) ? make(0) : el("div");
}

// A click that is about to fold or unfold; a filter shows what it finds, folded or not.
function keepFolded({ target, currentTarget }) {
  if (state.q || target.closest("button, a")) return;
  const part = currentTarget.parentElement;
  if (part.open) folded.add(part.id);
  else folded.delete(part.id);
}

function showFunction(event, program, number) {
  event.preventDefault();
  const found = document.getElementById(`${program} ${number}`);
  for (let part = found; part; part = part.parentElement.closest("details")) {
    part.open = true;
    folded.delete(part.id);
  }
  found?.scrollIntoView({ block: "center" });
  found?.querySelector("summary").focus();
}
