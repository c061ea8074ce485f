// Exchange: what each tile receives and sends, why, and from where to where.

function exchangeTab(of) {
  if (!of.modelled) return [notModelled()];
  if (!of.steps.length) return [nothingRan()];
  const step = chosenStep();
  const [received, sent] = [phaseSum(of, "received", step), phaseSum(of, "sent", step)];
  const [into, out] = [sum(received), sum(sent)];
  const steps = step < 0 ? of.steps : [of.steps[step]];
  const cycles = steps.flatMap((each) => each.phases).reduce((total, phase) => total + (phase.kind.includes("exchange") ? phase.cycles : 0), 0);
  const reach = out && into !== out ? ` · each byte sent reaches ${rounded(into / out)} tiles` : "";
  return [
    tools(stepChoice("step", `all ${amount(of.steps.length, "step")}`), soft("received ", bold(bytesText(into)), " · sent ", bold(bytesText(out)), " · ", bold(thousands(cycles)), ` cycles of exchange${reach}`)),
    into + out ? exchangeBars(of, received, sent) : note("No tile sends or receives anything here."),
    heading("What moves, and why"),
    causes(of, step),
    ...exchangeMatrix(of, step),
  ];
}

function exchangeBars(of, received, sent) {
  const { tiles } = of.machine;
  const [first, end] = rangeOf(state.zoom, tiles);
  const high = Math.max(most(received), most(sent), 1);
  const [span, middle, tall] = [WIDTH - LEFT - 8, 112, 100];
  const columns = Math.min(Math.floor(span), end - first);
  const wide = span / columns;
  // Where tiles are narrower than a pixel, the most of each pixel is drawn.
  const highest = (numbers, column) => {
    const from = first + Math.floor((column * (end - first)) / columns);
    return most(numbers.slice(from, Math.max(from + 1, first + Math.floor(((column + 1) * (end - first)) / columns))));
  };
  const paint = (pen, width) => {
    for (let column = 0; column < columns; column++) {
      const [x, w] = [LEFT + column * wide, Math.max(0.7, wide - (wide > 4 ? 1 : 0))];
      const [up, down] = [(highest(received, column) / high) * tall, (highest(sent, column) / high) * tall];
      pen.rect(x, middle - up, w, up, "phase-exchange");
      pen.rect(x, middle, w, down, "phase-global-exchange");
    }
    pen.line(LEFT, middle, width - 8, middle, "soft");
    pen.text(bytesText(high), LEFT - 6, middle - tall + 8, "right");
    pen.text("received ↑", LEFT - 6, middle - 6, "right");
    pen.text("sent ↓", LEFT - 6, middle + 14, "right");
    pen.text(bytesText(high), LEFT - 6, middle + tall, "right");
    for (const each of ticks(first, end - 1, Math.min(8, span / 70))) axisText(pen, thousands(each), LEFT + ((each - first + 0.5) / (end - first)) * span, middle + tall + 18, 0, width);
    const tile = chosenTile();
    const x = LEFT + ((tile - first + 0.5) / (end - first)) * span;
    if (tile >= first && tile < end) pen.line(x, 6, x, middle + tall + 4, "mark");
  };
  const index = (x) => Math.max(first, Math.min(end, first + ((x - LEFT) / span) * (end - first)));
  const at = (x) => {
    const tile = Math.min(end - 1, Math.floor(index(x)));
    return { tile, text: `tile ${thousands(tile)}\nreceives ${bytesText(received[tile])}\nsends ${bytesText(sent[tile])}` };
  };
  const drag = (x1, x2) => go({ zoom: `${Math.floor(index(x1))}-${Math.ceil(index(x2))}` });
  return figure({ label: "Bytes received and sent by tile", height: middle + tall + 26, paint, at, drag, undrag: () => go({ zoom: "" }) });
}

// What moves in one step or in all, each cause once with all steps that have it.
function causes(of, chosen) {
  const found = new Map();
  of.steps.forEach((step, number) => {
    if (chosen >= 0 && number !== chosen) return;
    for (const phase of step.phases) {
      for (const [what, why, at, bytes] of phase.causes) {
        const key = [phase.kind, what, why, at].join("\n");
        const row = found.get(key) ?? { kind: phase.kind, number, what, why, at, bytes: 0, times: 0, steps: new Set() };
        found.set(key, row);
        row.bytes += bytes * step.times;
        row.times += step.times;
        row.steps.add(number);
      }
    }
  });
  if (!found.size) return note("Nothing is moved or rearranged here.");
  const named = ({ number, steps }) => stepTitle(number) + (steps.size > 1 ? ` and ${steps.size - 1} more` : "");
  return table(
    [
      { name: "step", label: true, text: named },
      { name: "what", label: true, text: ({ kind, what }) => [swatch(phaseColor(kind)), what] },
      { name: "why", text: ({ why }) => soft(why), narrow: false },
      { name: "bytes in all", number: true, text: ({ bytes }) => bytesText(bytes), sort: ({ bytes }) => bytes },
      { name: "times", number: true, text: ({ times }) => thousands(times), narrow: false },
      { name: "line", text: ({ at }) => lineOf(at), narrow: false },
    ],
    [...found.values()],
    { pick: ({ number, kind }) => go({ step: number, tile: worst(phaseSum(of, "busy", number, kind)) }), isOn: ({ number }) => number === chosen, most: 20, sorted: "bytes in all" },
  );
}
