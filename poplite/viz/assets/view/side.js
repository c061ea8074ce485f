// The side: what the chosen tile holds and does, and what the chosen step takes.

function side(of) {
  const tile = chosenTile();
  return [...tileSide(of, tile), ...stepSide(of, tile)];
}

function rowsOf(parts, words, whole = 0) {
  const rows = parts.map(([label, size, fill]) =>
    rowOf(
      ["", swatch(fill), label],
      ["number", words(size)],
      ...(whole ? [["number soft", shareOf(size, whole)]] : []),
    ),
  );
  return el("table", {}, bodyOf(rows));
}

function tileSide(of, tile) {
  const { tiles, limit } = of.machine;
  const move = (by, label) =>
    button(by < 0 ? "‹" : "›", () => go({ tile: (tile + by + tiles) % tiles }), {
      "aria-label": label,
      title: label,
    });
  const parts = [
    el(
      "div",
      { class: "top" },
      el("h2", {}, `Tile ${thousands(tile)}`),
      el("span", { class: "grow" }),
      move(-1, "Tile before ( [ )"),
      move(1, "Next tile ( ] )"),
    ),
  ];
  if (of.memory) {
    const { needed, step } = peaks(of);
    const over = needed[tile] > limit;
    const held = memoryParts(of, (group) => group[tile]);
    parts.push(
      el(
        "p",
        { class: over ? "overText" : "" },
        over ? "! " : "",
        bold(bytesText(needed[tile])),
        ` of ${bytesText(limit)}, ${shareOf(needed[tile], limit)}`,
      ),
      memoryBar(held, limit),
      remark(
        step[tile] < 0
          ? "all of it always live"
          : `at its peak, in ${memoryStepName(of, step[tile])}`,
      ),
      rowsOf(held, bytesText),
    );
  }
  if (of.steps.length)
    parts.push(
      heading("Its time, all steps"),
      rowsOf(timeParts(timeOf(of, tile, -1)), (cycles) => thousands(Math.round(cycles)), of.cycles),
    );
  return parts;
}

function stepSide(of, tile) {
  const number = chosenStep();
  if (!of.steps.length) return [];
  if (number < 0) return [remark("Choose a step to see its phases here.")];
  const step = of.steps[number];
  const phases = step.phases.flatMap((phase) => [
    ...(phase.sync ? [["sync", phase.sync, null]] : []),
    [phase.kind, phase.cycles, arrayOf(phase.busy, of.machine.tiles)[tile]],
  ]);
  const rows = phases.map(([kind, slowest, own]) =>
    rowOf(
      ["", swatch(phaseColor(kind)), PHASES[kind]],
      ["number", thousands(slowest)],
      ["number", own === null ? "all tiles" : rounded(own)],
    ),
  );
  const heads = ["phase", "slowest", `tile ${thousands(tile)}`].map((name, place) =>
    el("th", { scope: "col", class: place ? "number" : "" }, name),
  );
  const moved = step.rates[1] && ` · B/cycle ${step.rates[1]}`;
  const parts = [
    el("hr"),
    el(
      "div",
      { class: "top" },
      soft(`Step ${stepNumber(number)}`),
      el("span", { class: "grow" }),
      button("✕", () => go({ step: null }), { title: "No step (Esc)", "aria-label": "No step" }),
    ),
    el("h2", {}, stepTitle(number)),
    para(lineOf(step.at)),
    para(
      bold(thousands(step.cycles)),
      ` cycles, ${shareOf(step.cycles, of.cycles)} of all, ${amount(step.times, "time")}`,
    ),
    phaseBar(of, number, step.cycles),
    el("table", {}, el("thead", {}, el("tr", {}, ...heads)), bodyOf(rows)),
    remark("Phases between two syncs overlap: each tile goes on by itself."),
    para(`balance ${percent(balanceOf(of, number))} · op/cycle ${step.rates[0]}`, moved),
  ];
  const code = most(step.phases.map((phase) => phase.code));
  if (code) parts.push(para(soft("exchange code "), `${bytesText(code)} on the tile with most`));
  if (step.op) parts.push(para(soft("operation "), step.op));
  if (step.types.length) {
    parts.push(heading("Vertices"));
    for (const [name, count, source, cycles] of step.types) {
      const each = rounded(count ? cycles / count : 0);
      parts.push(para(name, soft(` ${thousands(count)} run, ${each} cycles each, ${source}`)));
    }
  }
  return parts;
}
