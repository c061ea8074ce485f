// Exchange: what each tile receives and sends, why, and from where to where.

function exchangeTab(of) {
  const step = chosenStep();
  const [received, sent] = [phaseSum(of, "received", step), phaseSum(of, "sent", step)];
  const [into, out] = [sum(received), sum(sent)];
  const cycles = phasesIn(of, step).reduce(
    (total, phase) => total + (phase.kind.includes("exchange") ? phase.cycles : 0),
    0,
  );
  const reach = out && into !== out ? ` · each byte sent reaches ${rounded(into / out)} tiles` : "";
  return [
    tools(
      stepChoice("step", `all ${amount(of.steps.length, "step")}`),
      soft(
        "received ",
        bold(bytesText(into)),
        " · sent ",
        bold(bytesText(out)),
        " · ",
        bold(thousands(cycles)),
        ` cycles of exchange${reach}`,
      ),
    ),
    into + out
      ? exchangeBars(of, received, sent)
      : note("No tile sends or receives anything here."),
    heading("What moves, and why"),
    causes(of, step),
    ...exchangeMatrix(of, step),
    ...betweenRanks(of, step),
  ];
}

// What the ranks of an MPI run sent each other, in one step or in all.
function betweenRanks(of, chosen) {
  const rows = of.ranks
    .map(([name, program, row, ...rest]) => [stepAt(of, program, [row]), name, ...rest])
    .filter(([number]) => chosen < 0 || number === chosen);
  if (!rows.length) return [];
  const total = (column) => rows.reduce((before, row) => before + row[column], 0);
  const shown = [
    { name: "step", label: true, text: (row) => row[1] },
    sortable("bytes in all", (row) => row[5], bytesText),
    sortable("messages", (row) => row[4]),
    counted("times", (row) => row[3], thousands, NARROW),
    lineColumn((row) => row[2]),
  ];
  const pick = ([number]) => number >= 0 && go({ step: number });
  return [
    heading("Sent between ranks"),
    remark(`${bytesText(total(5))} in ${amount(total(4), "message")}`),
    table(shown, rows, { pick, most: 20, sorted: "bytes in all" }),
  ];
}

function exchangeBars(of, received, sent) {
  const { tiles } = of.machine;
  const [first, end] = rangeOf(state.zoom, tiles);
  const high = Math.max(most(received), most(sent), 1);
  const [axis, middle, tall] = [tileAxis(first, end), 112, 100];
  const paint = (pen, width) => {
    for (const { left, wide, from, to } of columnsOf(first, end, axis.span)) {
      const [up, down] = [received, sent].map(
        (numbers) => (most(numbers.slice(from, to)) / high) * tall,
      );
      pen.rect(LEFT + left, middle - up, barOf(wide), up, "phase-exchange");
      pen.rect(LEFT + left, middle, barOf(wide), down, "phase-global-exchange");
    }
    pen.line(LEFT, middle, width - 8, middle, "soft");
    pen.text(bytesText(high), LEFT - 6, middle - tall + 8, "right");
    pen.text("received ↑", LEFT - 6, middle - 6, "right");
    pen.text("sent ↓", LEFT - 6, middle + 14, "right");
    pen.text(bytesText(high), LEFT - 6, middle + tall, "right");
    axis.labels(pen, middle + tall + 18, 0, width);
    const tile = chosenTile();
    if (tile >= first && tile < end) pen.mark(axis.xOf(tile), middle - tall - 4);
  };
  const at = (x) => {
    const tile = axis.at(x);
    return {
      tile,
      text:
        `tile ${thousands(tile)}\nreceives ${bytesText(received[tile])}\n` +
        `sends ${bytesText(sent[tile])}`,
    };
  };
  return figure({
    label: "Bytes received and sent by tile",
    height: middle + tall + 26,
    paint,
    at,
    ...axis.zoom,
  });
}

// What moves in one step or in all, each cause once with all steps that have it.
function causes(of, chosen) {
  const found = new Map();
  of.steps.forEach((step, number) => {
    if (chosen >= 0 && number !== chosen) return;
    for (const phase of step.phases) {
      for (const [what, why, at, bytes] of phase.causes) {
        const key = [phase.kind, what, why, at].join("\n");
        const row = found.get(key) ?? {
          kind: phase.kind,
          number,
          what,
          why,
          at,
          bytes: 0,
          times: 0,
          steps: new Set(),
        };
        found.set(key, row);
        row.bytes += bytes;
        row.times += step.times;
        row.steps.add(number);
      }
    }
  });
  if (!found.size) return note("Nothing is moved or rearranged here.");
  const named = ({ number, steps }) =>
    stepTitle(number) + (steps.size > 1 ? ` and ${steps.size - 1} more` : "");
  return table(
    [
      { name: "step", label: true, text: named },
      { name: "what", label: true, text: ({ kind, what }) => [swatch(phaseColor(kind)), what] },
      { name: "why", text: ({ why }) => soft(why), wide: true },
      sortable("bytes in all", ({ bytes }) => bytes, bytesText),
      counted("times", ({ times }) => times, thousands, NARROW),
      lineColumn(({ at }) => at),
    ],
    [...found.values()],
    {
      pick: ({ number, kind }) =>
        go({ step: number, tile: worst(phaseSum(of, "busy", number, kind)) }),
      isOn: ({ number }) => number === chosen,
      most: 20,
      sorted: "bytes in all",
    },
  );
}
