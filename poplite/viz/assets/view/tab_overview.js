// Overview: five numbers, where time and memory go, and what to look at first.

const GAIN = "Cycles are computed: what the remedy would save.";

const LOST_IN = { waiting: "waited", "copied on its tile": "copied", "idle workers": "compute" };

function overview(of) {
  const parts = [cards(of)];
  if (of.steps.length) {
    const time = timeParts(timeOf(of, -1, -1));
    parts.push(
      heading("Where a tile's time goes, on average"),
      stackBar(time),
      legend(time, of.cycles),
    );
  }
  if (of.memory) {
    const { needed } = peaks(of);
    const tile = worst(needed);
    const held = memoryParts(of, (group) => group[tile]);
    parts.push(
      heading(`What fills tile ${thousands(tile)}, the fullest`),
      memoryBar(held, of.machine.limit),
      legend(held, needed[tile]),
    );
  }
  if (!of.modelled) parts.push(notModelled());
  if (of.steps.length || of.findings.length)
    parts.push(heading("What to look at first"), remark(GAIN), findings(of));
  const [left, right] = [vertexClasses(of), [machine(of)]];
  parts.push(el("div", { class: "columns" }, el("div", {}, ...left), el("div", {}, ...right)));
  return parts;
}

function card(label, number, words, open, share = null, over = false) {
  const meter = el("i", {
    style: `width:${Math.min(100, 100 * share)}%`,
    class: over ? "over" : "",
  });
  return el(
    "button",
    { class: "card", onclick: () => go(open), "data-focus": label },
    soft(label),
    bold(number),
    soft(words),
    share === null ? "" : el("span", { class: "meter" }, meter),
  );
}

function cards(of) {
  const { limit, tiles, clock } = of.machine;
  const made = [];
  if (of.cycles !== null && of.modelled) {
    made.push(
      card(
        of.run ? "cycles" : "cycles of one run",
        thousands(of.cycles),
        `${duration(of.cycles, clock)} at ${rounded(clock / 1e7) / 100} GHz`,
        { tab: "steps" },
      ),
    );
  }
  if (of.memory) {
    const { needed } = peaks(of);
    const [tile, bytes] = [worst(needed), most(needed)];
    const over = needed.filter((each) => each > limit).length;
    const words = over
      ? `! over ${bytesText(limit)} by ${bytesText(bytes - limit)}`
      : `${shareOf(bytes, limit)} of ${bytesText(limit)}`;
    made.push(
      card(
        `fullest tile ${thousands(tile)}`,
        bytesText(bytes),
        words,
        { tab: "memory", tile },
        bytes / limit,
        over > 0,
      ),
    );
  }
  if (of.steps.length) {
    const busy = phaseSum(of, "busy", -1, "compute");
    const balance = sum(busy) / tiles / most(busy);
    const tile = worst(busy);
    if (most(busy))
      made.push(
        card(
          "balance of compute",
          percent(balance),
          `busiest tile ${thousands(tile)}: ${amount(most(busy), "cycle")}`,
          { tab: "tiles", by: "compute", tile },
          balance,
        ),
      );
    const time = timeOf(of, -1, -1);
    const moved = time.exchange + time["global exchange"] + time["host exchange"];
    made.push(
      card(
        "in exchange",
        shareOf(moved, of.cycles),
        bytesText(sum(phaseSum(of, "received", -1))) + " received",
        { tab: "exchange" },
        moved / (of.cycles || 1),
      ),
    );
  }
  const ran = of.run
    ? `${amount(of.stepsRun, "step")}, ${amount(of.runs, "run")}`
    : "in one run; nothing has run yet";
  made.push(card("vertices run", thousands(of.verticesRun), ran, { tab: "program" }));
  return el("div", { class: "cards" }, ...made);
}

function findings(of) {
  if (!of.findings.length)
    return note("Nothing takes or loses as much as a hundredth of the cycles.");
  return el(
    "ul",
    { class: "findings" },
    ...of.findings.map((found) => el("li", {}, finding(found))),
  );
}

function finding(found) {
  const by = LOST_IN[found.kind];
  const moves = found.kind.includes("exchange") ? "exchange" : "steps";
  const tab = found.kind === "out of memory" ? "memory" : moves;
  const open = by ? { tab: "tiles", by } : { tab };
  const choose = () =>
    go({ ...open, tile: found.tile ?? state.tile, step: found.steps[0] ?? null });
  const share = found.share ? [bold(percent(found.share)), soft("of cycles")] : [bold("!")];
  const sentence = found.sentence.replace(/\([^()]+:\d+ in [^()]+\)/g, (at) => placeOf(at) + ")");
  const words = [bold(found.kind), ": " + sentence];
  return el(
    "div",
    { class: "finding", onclick: choose },
    el("span", { class: "share" }, ...share),
    el("span", {}, el("button", { class: "head" }, words), " ", lineOf(found.at)),
  );
}

function vertexClasses(of) {
  if (!of.types.length) return operations(of);
  const shown = [
    { name: "vertex class", text: (row) => row[0] },
    counted("run", (row) => row[1]),
    counted("cycles of all", (row) => row[3]),
    { name: "known", text: (row) => soft(row[2]), words: true },
  ];
  return [heading("Cycles by vertex class"), table(shown, of.types), ...operations(of)];
}

function operations(of) {
  if (!of.operations.length) return [];
  const shown = [
    { name: "operation", text: (row) => [row[0], " ", lineOf(row[1])] },
    counted("steps", (row) => row[2]),
    counted("cycles", (row) => row[3]),
  ];
  return [heading("Operations"), table(shown, of.operations, { most: 20 })];
}

function machine(of) {
  const { name, tiles, ipus, workers, limit } = of.machine;
  const facts = [
    [
      "target",
      `${name}, ${amount(tiles, "tile")}${ipus > 1 ? ` on ${ipus} IPUs` : ""}, ` +
        `${workers} workers each`,
    ],
    ["memory", `${bytesText(limit)} a tile`],
    ["replicas", of.replicas > 1 ? `${of.replicas}; all numbers are of one of them` : "1"],
    ...Object.entries(of.graph).map(([what, number]) => [what, thousands(number)]),
    ["checks", of.checks + (of.interpreted ? ", interpreted" : ", compiled")],
    ...of.options,
  ];
  const rows = facts.map(([what, value]) =>
    el("tr", {}, el("th", { scope: "row" }, what), el("td", {}, value)),
  );
  return el("div", {}, heading("Machine and graph"), el("table", { class: "facts" }, bodyOf(rows)));
}
