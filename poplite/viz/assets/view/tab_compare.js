// Compare: two reports beside each other.

function compareTab() {
  const [before, after] = DATA.reports;
  const words = DATA.diff.note && note("! " + DATA.diff.note);
  const parts = [changes("", "in all", DATA.diff.totals), words];
  const whole = Math.max(before.cycles, after.cycles);
  if (whole) parts.push(heading("Where a tile's time goes, to one scale"));
  [before, after].forEach((of, number) => {
    if (!of.steps.length) return;
    const time = timeParts(timeOf(of, -1, -1));
    parts.push(
      remark(`${DATA.names[number]}: ${amount(of.cycles, "cycle")}`),
      stackBar(time, whole),
      legend(time, of.cycles),
    );
  });
  const tables = [
    ["Cycles of steps", "step", "steps"],
    ["Cycles by phase", "phase", "phases"],
    ["Bytes of all tiles, by kind", "kind", "memory"],
  ];
  for (const [title, what, rows] of tables)
    if (DATA.diff[rows].length) parts.push(changes(title, what, DATA.diff[rows]));
  return [...parts, ...differences(before, after)];
}

function changes(title, what, rows) {
  const signed = (number) => (number > 0 ? "+" : "") + rounded(number);
  const ratio = ([, one, other]) =>
    !one
      ? other
        ? "new"
        : ""
      : other / one >= 10
        ? "×" + rounded(Math.round(other / one))
        : `${other < one ? "−" : "+"}${Math.abs((other / one - 1) * 100).toFixed(1)} %`;
  const changed = rows.filter((row) => row[1] !== row[2]);
  const name = (row) => PHASES[row[0]] ?? row[0].replaceAll("_", " ");
  const shown = table(
    [
      { name: what, text: name },
      counted(DATA.names[0], (row) => row[1], rounded),
      counted(DATA.names[1], (row) => row[2], rounded),
      counted("change", (row) => row[2] - row[1], signed),
      counted("in percent", (row) => row, ratio, NARROW),
    ],
    title ? changed : rows,
    { most: 40 },
  );
  return el(
    "div",
    {},
    title ? heading(title) : "",
    title && !changed.length ? note("Nothing changed.") : shown,
  );
}

function differences(before, after) {
  if (before.machine.tiles !== after.machine.tiles || before.machine.ipus !== after.machine.ipus)
    return [note("The two have other numbers of tiles, so there is no map of differences.")];
  const [one, other] = [measure(before, state.by, -1), measure(after, state.by, -1)];
  const parts = [
    heading("Difference of each tile: blue is less, orange is more"),
    tools(choice("", "by", BY)),
  ];
  if (!one || !other) return [...parts, note("This number is not known in both.")];
  const change = Float64Array.from(other, (number, tile) => number - one[tile]);
  const high = most(change.map(Math.abs)) || 1;
  const words = (number) => (number > 0 ? "+" : "") + measureText(state.by, number);
  return [
    ...parts,
    remark(`from ${words(least(change))} to ${words(Math.max(...change))}`),
    tileMap(
      after,
      change,
      (number) => number / high,
      Infinity,
      "difference of " + BY[state.by],
      words,
      twoSided,
    ),
  ];
}

// From blue (-1) over the colour of what is empty to orange (1).
function twoSided(share) {
  const mixed = [1, 3, 5].map((place) => {
    const [from, to] = [color("empty"), color(share < 0 ? "phase-compute" : "phase-copy")].map(
      (hex) => parseInt(hex.slice(place, place + 2), 16),
    );
    return Math.round(from + (to - from) * Math.abs(share))
      .toString(16)
      .padStart(2, "0");
  });
  return "#" + mixed.join("");
}
