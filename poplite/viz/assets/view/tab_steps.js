// Steps: what all tiles do in time, and what each step takes.

// What a page lacks that would be too large, by how rough its numbers are.
const ROUGH = {
  2: "all digits: cycles and bytes of single tiles in a step have three.",
  3:
    "a number for each tile: times are means of blocks of tiles, and waiting is only roughly " +
    "known.",
};

function stepsTab(of) {
  const runs = {
    once: "each step once",
    times: "times its executions",
    ...(of.order.length ? { ran: "as it ran" } : {}),
  };
  const rows = of.steps
    .map((step, number) => ({ step, number }))
    .filter(({ step }) => matches(step.name, step.at, step.op));
  return [
    tools(
      choice("", "run", runs),
      choice("tiles", "rows", { number: "by number", most: "busiest first" }),
      ...partButtons(of),
      state.win || state.zoom ? button("all of it", () => go({ win: "", zoom: "" })) : "",
      of.order.length
        ? ""
        : soft(
            "The order in which steps ran is known of poplite-viz report --trace, and where a " +
              "trace was saved: report.save(path, trace).",
          ),
    ),
    ROUGH[of.rough] ? note("The page would be too large with " + ROUGH[of.rough]) : "",
    phaseLegend(of, [...PHASE_KINDS, "waiting", "sync"], (kind) => PHASES[kind]),
    timeline(of),
    rangeSpent(of),
    tools(filterField("keep steps with …"), sortChoice(of)),
    phaseLegend(of),
    kept("steps", [state.q, state.sort, chosenStep()], () => stepsTable(of, rows)),
    ...of.limits.map((line) => remark(line)),
  ];
}

// One IPU or one rank at a time, where there are several.
function partButtons(of) {
  const { ipus, tiles } = of.machine;
  const firsts = Array.from({ length: ipus }, (_, ipu) => (ipu * tiles) / ipus);
  const buttons = (name, firsts) =>
    firsts.flatMap((first, number) => {
      const end = firsts[number + 1] ?? tiles;
      const zoom = `${first}-${end}`;
      if (first === end) return [];
      const pressed = { "aria-pressed": String(state.zoom === zoom) };
      return button(`${name} ${number}`, () => go({ zoom, rows: "number" }), pressed);
    });
  return [
    ...(ipus > 1 ? buttons("IPU", firsts) : []),
    ...(of.cut.length ? buttons("rank", [0, ...of.cut]) : []),
  ];
}

// Steps in the order of a part of time; columns of the table sort by other numbers.
function sortChoice(of) {
  const parts = Object.keys(PHASES).filter((part) => timeOf(of, -1, -1)[part] > 0);
  const option = (part) =>
    el("option", { value: part, selected: state.sort === part }, partWords(part));
  const none = el("option", { value: "", selected: !parts.includes(state.sort) }, "…");
  const pick = (event) => go({ sort: event.target.value });
  const select = { onchange: pick, "data-focus": "most of" };
  return labelled("most of", el("select", select, none, ...parts.map(option)));
}

function stepsTable(of, unordered) {
  const longest = most(of.steps.map((step) => step.cycles));
  const rows = PHASES[state.sort]
    ? descending(unordered, ({ number }) => timeOf(of, -1, number)[state.sort])
    : unordered;
  return table(
    [
      counted("#", ({ number }) => stepNumber(number), String),
      { name: "step", label: true, text: ({ number }) => stepTitle(number) },
      sortable("times", ({ step }) => step.times),
      sortable("cycles", ({ step }) => step.cycles),
      shareColumn(of, ({ step }) => step.cycles, NARROW),
      { name: "phases, to one scale", text: ({ number }) => phaseBar(of, number, longest) },
      counted("balance", ({ number }) => balanceOf(of, number), percent, {
        sort: ({ number }) => 1 - balanceOf(of, number),
        ...NARROW,
      }),
      ...["op/cycle", "B/cycle", "code B"].map((name, place) => ({
        ...{ name, number: true, text: ({ step }) => step.rates[place], ...BROAD },
      })),
      lineColumn(({ step }) => step.at),
    ],
    rows,
    { pick: ({ number }) => go({ step: number }), isOn: ({ number }) => number === chosenStep() },
  );
}

// Mean of the busy cycles of tiles, of the busiest tile's.
function balanceOf(of, step) {
  return once(of, `balance ${step}`, () => {
    const busy = phaseSum(of, "busy", step);
    return most(busy) ? sum(busy) / busy.length / most(busy) : 1;
  });
}
