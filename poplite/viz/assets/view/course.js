// The course of a program: which step and phase a tile is in at a time, and what time is spent on.

// The steps in the order in which they are drawn: where each begins, how long one execution takes,
// and how many follow each other.
function course(of) {
  return once(of, "course " + state.run, () => {
    const runs =
      state.run === "ran" && of.order.length
        ? of.order
        : of.steps.map((step, number) => [number, state.run === "times" ? step.times : 1]);
    const parts = [];
    let begin = 0;
    for (const [step, times] of runs) {
      const each = of.steps[step].cycles / (of.steps[step].times || 1);
      if (!each || !times) continue;
      parts.push({ step, begin, each, end: begin + each * times });
      begin += each * times;
    }
    return { parts, end: begin };
  });
}

const partAt = (parts, time) =>
  parts[lastAtMost(time, parts.length, (place) => parts[place].begin)];

// The group of phases at a time within one execution, and how far into it that is; below 0 in a
// sync.
function groupAt(of, step, within) {
  const times = of.steps[step].times || 1;
  let left = within * times;
  let found = null;
  for (const group of groupsOf(of, step)) {
    found = group;
    if (left < group.sync) return { group, left: -1 };
    left -= group.sync;
    if (left < group.length) return { group, left };
    left -= group.length;
  }
  return { group: found, left: found ? found.length : -1 };
}

function kindAt(of, { group, left }, tile) {
  if (left < 0) return "sync";
  for (const phase of group.phases) {
    left -= arrayOf(phase.busy, of.machine.tiles)[tile];
    if (left < 0) return phase.kind;
  }
  return "waiting";
}

// What a tile spends the time from one cycle to another on, on average.
function spentIn(of, parts, from, to) {
  const total = {};
  const add = (found, share) => {
    for (const [kind, cycles] of Object.entries(found))
      total[kind] = (total[kind] ?? 0) + cycles * share;
  };
  for (const { step, begin, each, end } of parts) {
    if (begin >= to || end <= from) continue;
    const mean = timeOf(of, -1, step);
    const edges = [
      [Math.min(to, end) - begin, 1],
      [Math.max(from, begin) - begin, -1],
    ];
    for (const [time, sign] of edges) {
      const whole = Math.floor(time / each + 1e-9);
      add(mean, (sign * whole) / (of.steps[step].times || 1));
      add(begunIn(of, step, time - whole * each, mean), sign);
    }
  }
  return total;
}

// The same from the begin of an execution on; workers are idle as they are in all of the step.
function begunIn(of, step, within, mean) {
  const times = of.steps[step].times || 1;
  const { tiles } = of.machine;
  const found = { sync: 0, waiting: 0 };
  let left = within * times;
  for (const group of left > 1e-6 ? groupsOf(of, step) : []) {
    const synced = Math.min(left, group.sync);
    found.sync += synced / times;
    const length = Math.min(left - synced, group.length);
    left -= synced + length;
    const rest = perTile(of).fill(length);
    for (const { kind, busy } of group.phases) {
      arrayOf(busy, tiles).forEach((cycles, tile) => {
        const taken = Math.min(rest[tile], cycles);
        rest[tile] -= taken;
        found[kind] = (found[kind] ?? 0) + taken / tiles / times;
      });
    }
    found.waiting += sum(rest) / tiles / times;
  }
  const idle = mean["idle workers"] / (mean.compute + mean["idle workers"] || 1);
  found["idle workers"] = (found.compute ?? 0) * idle;
  found.compute = (found.compute ?? 0) - found["idle workers"];
  return found;
}
