// Arrays of the page, made when they are first asked for.

// Powers of ten of numbers that are rounded to three digits.
const TENS = Array.from({ length: 18 }, (_, power) => 10 ** power);
const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

// Returns the numbers that `found` stands for, `length` of them where all are equal.
function arrayOf(found, length) {
  if (found.made) return found.made;
  if ("c" in found) return (found.made = new Float64Array(length).fill(found.c));
  const [type, begin, count] = DATA.table[found.a];
  const kept = new TYPES[type](BLOCK, begin, count);
  if (found.tens)
    return (found.made = new Float64Array(kept).map(
      (each) => (each % 1000) * TENS[Math.floor(each / 1000)],
    ));
  if (!found.run) return (found.made = kept);
  return (found.made = Float64Array.from(
    { length },
    (_, tile) => kept[Math.floor(tile / found.run)],
  ));
}

// The report that is shown: of two, the one that was chosen.
function report() {
  return DATA.reports[
    DATA.reports.length > 1 && state.of === "before" ? 0 : DATA.reports.length - 1
  ];
}

// Computes something of a report once.
function once(of, key, make) {
  of.made ??= new Map();
  if (!of.made.has(key)) of.made.set(key, make());
  return of.made.get(key);
}

// The folder that all lines of source share, with its last slash.
function commonFolder() {
  return once(DATA, "folder", () => {
    const lines = DATA.reports.flatMap((each) => [
      ...each.steps.flatMap((step) => [
        step.at,
        ...step.phases.flatMap((phase) => phase.causes.map((cause) => cause[2])),
      ]),
      ...(each.memory?.held ?? []).map((held) => held.at),
      ...Object.values(each.programs).flatMap((nodes) => nodes.map((node) => node[4])),
    ]);
    let common = null;
    for (const line of new Set(lines.filter(Boolean))) {
      const folder = line.slice(0, line.lastIndexOf("/") + 1);
      common ??= folder;
      while (!folder.startsWith(common))
        common = common.slice(0, common.lastIndexOf("/", common.length - 2) + 1);
    }
    return common ?? "";
  });
}
