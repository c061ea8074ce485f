// Liveness: what the chosen tile needs in each step, and when each thing needs its room.

const MOST_LANES = 40;

function livenessTab(of) {
  const tile = chosenTile();
  const { always, beside, step: peak } = peaks(of);
  const step = memoryStepOf(of, chosenStep());
  const shown = state.live === "all" ? always.map((size, each) => size + beside[each]) : beside;
  const drawn = of.memory.held.filter((held) => state.live === "all" || held.steps);
  const sharing = heldOn(of, tile).filter(({ held }) => held.steps !== null);
  const highest = worst(shown);
  const type = (event) =>
    event.target.value !== "" && go({ tile: Math.max(0, Math.round(Number(event.target.value))) });
  const field = { type: "number", min: 0, max: of.machine.tiles - 1, "data-focus": "tile" };
  const facts = soft(
    "always live ",
    bold(bytesText(always[tile])),
    " · peak ",
    bold(bytesText(always[tile] + beside[tile])),
    peak[tile] < 0 ? "" : ` in ${memoryStepName(of, peak[tile])}`,
  );
  return [
    tools(
      labelled("tile", el("input", { ...field, value: tile, onchange: type })),
      button(`highest on tile ${thousands(highest)}`, () => go({ tile: highest })),
      choice("", "live", { beside: "not always live", all: "with what is always live" }),
      facts,
    ),
    legend(
      GROUP_NAMES.slice(0, GAPS)
        .map((name, number) => [name, 0, "memory-" + number])
        .filter((_, number) => drawn.some((held) => groupOf(held.kind) === number)),
    ),
    sharing.length || state.live === "all" ? livenessBars(of, tile, step) : "",
    ...(sharing.length
      ? [
          heading(
            "When each thing needs its room",
            soft(` — steps across; the ${MOST_LANES} largest`),
            soft(step < 0 ? "" : " of the chosen step first"),
          ),
          lanes(of, tile, step, sharing),
        ]
      : [note("Nothing on this tile shares its room: all of it is always live.")]),
  ];
}

// Bytes of each group on a tile in each step, and of what is always live.
function livenessOf(of, tile) {
  return once(of, `liveness ${tile}`, () => {
    const found = of.memory.steps.map(() => new Float64Array(GAPS));
    const always = new Float64Array(GAPS);
    for (const { held, bytes } of heldOn(of, tile)) {
      const group = groupOf(held.kind);
      if (held.steps === null) always[group] += bytes;
      for (const [first, last] of held.steps ?? [])
        for (let step = first; step <= last; step++) found[step][group] += bytes;
    }
    return { found, always };
  });
}

// The step of a program that a step of memory is, as a choice; nothing where it did not run.
const chosenBy = (of, memoryStep) =>
  ranAs(of, memoryStep) < 0 ? {} : { step: ranAs(of, memoryStep) };

// Steps across, the same in columns and lanes: names on the left, bytes of lanes on the right.
function stepScale(of) {
  const [left, right] = [Math.min(220, WIDTH * 0.3), WIDTH - 82];
  return { left, right, wide: (right - 8 - left) / of.memory.steps.length };
}

function livenessBars(of, tile, chosen) {
  const { found, always } = livenessOf(of, tile);
  const shown =
    state.live === "all"
      ? found.map((each) => each.map((bytes, group) => bytes + always[group]))
      : found;
  const high = Math.max(1, ...shown.map(sum));
  // What is not always live has no limit of its own.
  const limit = state.live === "all" ? of.machine.limit : Infinity;
  const [top, base] = [16, 200];
  const { left, right, wide } = stepScale(of);
  const peak = peaks(of).step[tile];
  const at = (x) => {
    const number = Math.floor((x - left) / wide);
    if (number < 0 || number >= shown.length) return null;
    return {
      ...chosenBy(of, number),
      text:
        `${memoryStepName(of, number)}\n${bytesText(sum(found[number]))} beside what is always ` +
        `live${number === peak ? "\nthe peak of this tile" : ""}`,
    };
  };
  const paint = (pen, width) => {
    bytesAxis(pen, high, base, top, right, left);
    shown.forEach((groups, number) => {
      let y = base;
      groups.forEach((bytes, group) => {
        const tall = (bytes / high) * (base - top);
        y -= tall;
        if (tall) pen.rect(left + number * wide, y, barOf(wide), tall + 0.3, "memory-" + group);
      });
      const past = y - base + (limit / high) * (base - top);
      if (past < 0) pen.rect(left + number * wide, y, barOf(wide), -past, "over");
      if (number === peak)
        pen.rect(left + number * wide, y - 3, Math.max(2, barOf(wide)), 2, "mark");
      if (number === chosen) pen.mark(left + (number + 0.5) * wide, y - 4);
      if (wide > 60)
        pen.text(
          shortened(memoryStepName(of, number), Math.floor(wide / 7)),
          left + (number + 0.5) * wide,
          base + 16,
          "center",
        );
    });
    limitLine(pen, limit, high, base, top, right, left);
    if (wide <= 60)
      for (const each of ticks(1, shown.length, Math.min(10, (right - left) / 60)))
        axisText(pen, thousands(each), left + (each - 0.5) * wide, base + 16, 0, width);
  };
  return figure({ label: `Bytes by step on tile ${tile}`, height: 222, paint, at });
}

function lanes(of, tile, chosen, rows) {
  const first = (row) => (chosen >= 0 && isIn(row.held, chosen) ? 1 : 0);
  const shown = rows
    .slice()
    .sort((one, other) => first(other) - first(one))
    .slice(0, MOST_LANES);
  const { left, right, wide } = stepScale(of);
  const paint = (pen, width) => {
    shown.forEach(({ held, bytes }, lane) => {
      const y = 4 + lane * 20;
      pen.text(shortened(held.name, Math.floor(left / 7)), 4, y + 12, "left", "ink");
      pen.rect(left, y, right - left - 8, 14, "empty");
      for (const [begin, end] of held.steps)
        pen.rect(
          left + begin * wide,
          y,
          Math.max(1, (end - begin + 1) * wide),
          14,
          "memory-" + groupOf(held.kind),
        );
      pen.text(bytesText(bytes), width - 4, y + 12, "right");
    });
    if (chosen >= 0)
      for (const y of [0, shown.length * 20 + 1])
        pen.rect(left + chosen * wide, y, Math.max(2, wide), 2, "mark");
  };
  const at = (x, y) => {
    const [row, number] = [shown[Math.floor((y - 2) / 20)], Math.floor((x - left) / wide)];
    if (!row) return null;
    const words = `${row.held.name}\n${bytesText(row.bytes)}, ${kindOf(row.held)}`;
    return number < 0 || number >= of.memory.steps.length
      ? { text: words }
      : { ...chosenBy(of, number), text: `${words}\n${memoryStepName(of, number)}` };
  };
  return figure({
    label: `When things on tile ${tile} need their room`,
    height: shown.length * 20 + 6,
    paint,
    at,
  });
}
