// Steps: what all tiles do in time, and what each step takes.

function stepsTab(of) {
  if (!of.modelled) return [notModelled()];
  if (!of.steps.length) return [nothingRan()];
  const runs = { once: "each step once", times: "times its executions", ...(of.order.length ? { ran: "as it ran" } : {}) };
  const kinds = Object.keys(PHASES).filter((kind) => timeOf(of, -1, -1)[kind] > 0);
  const rows = of.steps.map((step, number) => ({ step, number })).filter(({ step }) => matches(step.name, step.at, step.op));
  return [
    tools(
      choice("", "run", runs),
      choice("tiles", "rows", { number: "by number", most: "busiest first" }),
      state.win ? el("button", { onclick: () => go({ win: "" }) }, "all of it") : "",
      of.order.length ? "" : soft("The order in which steps ran is known where a trace was saved: report.save(path, trace)."),
    ),
    of.rough > 1 ? note("The page would be too large with a number for each tile: times are means of blocks of tiles, and waiting is only roughly known.") : "",
    legend(kinds.map((kind) => [PHASES[kind], 0, phaseColor(kind)])),
    timeline(of),
    tools(filterField("keep steps with …")),
    kept("steps", [state.q, state.sort, chosenStep()], () => stepsTable(of, rows)),
  ];
}

function stepsTable(of, rows) {
  const longest = most(of.steps.map((step) => step.cycles));
  return table(
    [
      { name: "#", number: true, text: ({ number }) => number + 1 },
      { name: "step", label: true, text: ({ number }) => stepTitle(number) },
      { name: "times", number: true, text: ({ step }) => thousands(step.times), sort: ({ step }) => step.times },
      { name: "cycles", number: true, text: ({ step }) => thousands(step.cycles), sort: ({ step }) => step.cycles },
      { name: "of all", number: true, text: ({ step }) => shareOf(step.cycles, of.cycles), narrow: false },
      { name: "phases, to one scale", text: ({ number }) => phaseBar(of, number, longest) },
      { name: "balance", number: true, text: ({ number }) => percent(balanceOf(of, number)), sort: ({ number }) => 1 - balanceOf(of, number), narrow: false },
      { name: "line", text: ({ step }) => lineOf(step.at), narrow: false },
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
