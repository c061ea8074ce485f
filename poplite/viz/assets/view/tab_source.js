// Source: the lines that a report names, what each takes, and what is behind the chosen one.

// A line, and what called its function: "x.py:7 in f, called at y.py:3".
const placesOf = (at) =>
  at.split(", called at ").flatMap((text) => {
    const found = /^((.+):(\d+))(?: in .+)?$/s.exec(text);
    return found ? [{ text, line: found[1], file: found[2], number: Number(found[3]) }] : [];
  });

// What lines take, by file and number; one that calls another has all that that one made.
function linesOf(of) {
  return once(of, "lines", () => {
    const files = new Map();
    const take = (at, name, taken) => {
      placesOf(at).forEach(({ line, file, number }, depth, places) => {
        if (places.findIndex((each) => each.line === line) < depth) return;
        const lines = files.get(file) ?? new Map();
        const row = lines.get(number) ?? { line, number, names: new Set(), calls: true };
        files.set(file, lines.set(number, row));
        row.calls &&= depth > 0;
        row.names.add(depth ? places[depth - 1].text.replace(/^.*\//, "") : name);
        for (const part of ["cycles", "received", "memory"])
          row[part] = (row[part] ?? 0) + (taken[part] ?? 0);
      });
    };
    of.steps.forEach((step, number) => {
      const received = sum(phaseSum(of, "received", number));
      take(step.at, step.name, { cycles: step.cycles, received });
    });
    for (const held of of.memory?.held ?? [])
      take(held.at, held.name, { memory: sum(arrayOf(held.bytes, of.machine.tiles)) });
    return files;
  });
}

function sourceTab(of) {
  const cyclesOf = ([, lines]) => most([...lines.values()].map((row) => row.cycles));
  const words =
    "Steps and memory belong to the line that made them. A line in italics calls it, and has " +
    "its numbers as well. Bytes are those of all tiles.";
  const more = " The text of lines is in pages of poplite-viz report --source.";
  const files = descending([...linesOf(of)], cyclesOf).flatMap((found) => fileOf(of, ...found));
  const hasText = Object.keys(of.sources).length;
  return [el("div", { class: "lines" }, remark(words + (hasText ? "" : more)), ...files)];
}

function fileOf(of, file, lines) {
  const [why, digest, texts] = of.sources[file] ?? ["", "", []];
  const text = new Map(state.sort ? [] : texts);
  const numbers = [...new Set([...lines.keys(), ...text.keys()])].sort((one, other) => one - other);
  const taken = (part, words = bytesText, more = NARROW) => ({
    ...sortable(part, (row) => row[part] ?? -1, words, more),
    text: (row) => (row.names ? words(row[part]) : ""),
  });
  const share = taken("cycles", (cycles) => shareOf(cycles, of.cycles));
  const code = ({ number }) => el("code", {}, text.get(number) ?? "");
  const columns = [
    ...[taken("cycles", thousands, {}), { ...share, name: "of all", sort: null }],
    ...[taken("received"), taken("memory"), counted("line", ({ number }) => number, String)],
    { name: "", text: (row) => [code(row), row.names ? soft(namesText(row)) : ""] },
  ];
  const rows = numbers.map((number) => lines.get(number) ?? { number });
  const made = table(columns, rows, {
    ...{ most: Infinity, pick: ({ line }) => go({ line }), picks: ({ names }) => names },
    isOn: ({ line }) => line && line === state.line,
    isPale: ({ calls }) => calls,
  });
  const more = () => el("tr", {}, el("td", { colspan: 6 }, ...behind(of, state.line)));
  made.querySelector("tr.on")?.after(more());
  return [heading(file), remark(why || (digest && "SHA-256 " + digest)), made];
}

function namesText({ names, calls }) {
  const more = names.size > 3 ? ` and ${thousands(names.size - 3)} more` : "";
  return (calls ? " calls " : " ") + [...names].slice(0, 3).join(", ") + more;
}

// The steps, the vertices and the memory of a line; a click opens them, on the tile with most.
function behind(of, line) {
  const all = (found) => () => arrayOf(found, of.machine.tiles);
  const part = (name, label, words, made) => {
    const rows = made
      .filter(({ at }) => placesOf(at).some((place) => place.line === line))
      .map((row) => ({ ...row, tiles: row.on(), tile: worst(row.on()) }));
    const size = ({ size, tiles }) => size ?? sum(tiles);
    const shown = [
      { name, label: true, text: (row) => row.name },
      counted(label, size, words),
      counted("most on tile", ({ tile }) => tile),
    ];
    const pick = ({ open, tile }) => go({ ...open(), tile });
    return rows.length ? table(shown, descending(rows, size), { pick }) : "";
  };
  const steps = of.steps.map(({ at, cycles }, step) => ({
    ...{ at, name: `${stepNumber(step)} ${stepTitle(step)}`, size: cycles },
    ...{ on: () => phaseSum(of, "busy", step), open: () => ({ tab: "steps", step }) },
  }));
  const vertices = of.computeSets.flatMap(({ name, types }, set) => {
    const step = () => of.steps.findIndex((each) => each.set === set);
    const open = () => ({ tab: "tiles", by: "vertices", step: step() < 0 ? null : step() });
    return types.map(([type, on, at]) => ({ at, name: `${type} in ${name}`, on: all(on), open }));
  });
  const held = (of.memory?.held ?? []).map((each, held) => ({
    ...{ at: each.at, name: `${each.name}, ${kindOf(each)}`, on: all(each.bytes) },
    open: () => ({ tab: "variables", held }),
  }));
  return [
    part("step", "cycles", thousands, steps),
    part("vertices", "number", thousands, vertices),
    part("in memory", "bytes", bytesText, held),
  ];
}
