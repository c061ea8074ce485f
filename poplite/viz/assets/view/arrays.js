// Arrays of the page, made when they are first asked for.

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

// Returns the numbers that `found` stands for, `length` of them where all are equal.
function arrayOf(found, length) {
  if (found.made) return found.made;
  if ("c" in found) return (found.made = new Float64Array(length).fill(found.c));
  const [type, begin, count] = DATA.table[found.a];
  const kept = new TYPES[type](BLOCK, begin, count);
  if (!found.run) return (found.made = kept);
  return (found.made = Float64Array.from({ length }, (_, tile) => kept[Math.floor(tile / found.run)]));
}

// Whether the numbers are all zero, without unpacking them.
function isNothing(found) {
  return found.c === 0;
}

// The report that is shown: of two, the one that was chosen.
function report() {
  return DATA.reports[DATA.reports.length > 1 && state.of === "before" ? 0 : DATA.reports.length - 1];
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
    const lines = new Set();
    for (const each of DATA.reports) {
      for (const step of each.steps) {
        lines.add(step.at);
        for (const phase of step.phases) for (const cause of phase.causes) lines.add(cause[2]);
      }
      for (const held of each.memory?.held ?? []) lines.add(held.at);
      for (const nodes of Object.values(each.programs)) for (const node of nodes) lines.add(node[4]);
    }
    lines.delete("");
    let common = null;
    for (const line of lines) {
      const folder = line.slice(0, line.lastIndexOf("/") + 1);
      common ??= folder;
      while (!folder.startsWith(common)) common = common.slice(0, common.lastIndexOf("/", common.length - 2) + 1);
    }
    return common ?? "";
  });
}
