// What follows from the numbers of a report: sums, waiting, peaks.  All of it is computed once.

// One step, or (-1) all of them; and their phases.
const stepsIn = (of, step) => (step < 0 ? of.steps : [of.steps[step]]);
const phasesIn = (of, step) => stepsIn(of, step).flatMap((each) => each.phases);

const perTile = (of) => new Float64Array(of.machine.tiles);

// Adds an array of the page to numbers of tiles.
function addTo(total, found, sign = 1) {
  if (found.c === 0) return total; // nothing is unpacked
  const numbers = arrayOf(found, total.length);
  for (let tile = 0; tile < total.length; tile++) total[tile] += sign * numbers[tile];
  return total;
}

// The total of a field of phases on each tile, in one step or (-1) in all; of one kind where given.
function phaseSum(of, field, step, kind = "") {
  return once(of, `${field} ${step} ${kind}`, () => {
    const phases = phasesIn(of, step).filter((phase) => !kind || phase.kind === kind);
    return phases.reduce((total, phase) => addTo(total, phase[field]), perTile(of));
  });
}

// Phases from one sync to the next: each tile goes on by itself in them.  The length of a group is
// that of its slowest tile; cycles that are left over, as other executions have another slowest
// tile, count for the last group, so that all add up to the cycles of the step.
function groupsOf(of, step) {
  return once(of, `groups ${step}`, () => {
    const groups = [];
    const found = of.steps[step];
    for (const phase of found.phases) {
      if (phase.sync > 0 || !groups.length)
        groups.push({ sync: phase.sync, phases: [], length: 0 });
      groups[groups.length - 1].phases.push(phase);
    }
    let left = found.cycles;
    for (const group of groups) {
      group.busy = group.phases.reduce((total, phase) => addTo(total, phase.busy), perTile(of));
      group.length = most(group.busy);
      left -= group.sync + group.length;
    }
    if (groups.length && left > 0) groups[groups.length - 1].length += left;
    return groups;
  });
}

// The cycles that each tile waits for others, in one step or (-1) in all; without syncs.
function waiting(of, step) {
  return once(of, `waiting ${step}`, () => {
    const total = perTile(of);
    for (const each of step < 0 ? of.steps.keys() : [step]) {
      for (const group of groupsOf(of, each)) {
        for (let tile = 0; tile < total.length; tile++)
          total[tile] += group.length - group.busy[tile];
      }
    }
    return total;
  });
}

const syncOf = (of, step) => phasesIn(of, step).reduce((total, phase) => total + phase.sync, 0);

// Where time goes, by part: of one tile, or (-1) of a tile on average.  The parts add up to all
// cycles; compute is the part of it in which workers had work.  Means need no array of tiles for
// each step, of which there may be many.
const timeOf = (of, tile, step) =>
  tile < 0
    ? once(of, `mean time ${step}`, () => timeParted(of, tile, step))
    : timeParted(of, tile, step);

function timeParted(of, tile, step) {
  const found = { compute: 0, "idle workers": 0 };
  const take = (field, step, kind) =>
    tile < 0 ? meanOf(of, field, step, kind) : phaseSum(of, field, step, kind)[tile];
  found["idle workers"] = take("idle", step);
  found.compute = take("busy", step, "compute") - found["idle workers"];
  found.waiting = tile < 0 ? meanWaiting(of, step) : waiting(of, step)[tile];
  for (const kind of PHASE_KINDS.slice(1)) found[kind] = take("busy", step, kind);
  found.sync = syncOf(of, step);
  return found;
}

function meanOf(of, field, step, kind = "") {
  let total = 0;
  for (const phase of phasesIn(of, step))
    if (!kind || phase.kind === kind)
      total += phase[field].c ?? sum(arrayOf(phase[field], of.machine.tiles)) / of.machine.tiles;
  return total;
}

function meanWaiting(of, step) {
  if (step < 0) return of.steps.reduce((total, _, each) => total + timeOf(of, -1, each).waiting, 0);
  const long = groupsOf(of, step).reduce((total, group) => total + group.length, 0);
  return long - meanOf(of, "busy", step);
}

// Vertices on each tile that run in a step, or (-1) stand in all compute sets.
function verticesOf(of, step) {
  return once(of, `vertices ${step}`, () => {
    const sets = step < 0 ? of.computeSets : [of.computeSets[of.steps[step].set]];
    return sets
      .flatMap((set) => set?.types ?? [])
      .reduce((total, [, found]) => addTo(total, found), perTile(of));
  });
}

// -- memory --------------------------------------------------------------------------------

const isIn = (held, step) =>
  held.steps !== null && held.steps.some(([first, last]) => first <= step && step <= last);

// Bytes of each tile that are always live, the most of all others in one step, and that step
// (-1 where there is none).  What begins and ends is added up step by step.
function peaks(of) {
  return once(of, "peaks", () => {
    const { tiles } = of.machine;
    const [always, beside, running] = [perTile(of), perTile(of), perTile(of)];
    const step = new Int32Array(tiles).fill(-1);
    const changes = of.memory.steps.map(() => []);
    for (const held of of.memory.held) {
      if (held.steps === null) addTo(always, held.bytes);
      for (const [first, last] of held.steps ?? []) {
        changes[first].push([held, 1]);
        if (last + 1 < changes.length) changes[last + 1].push([held, -1]);
      }
    }
    changes.forEach((some, number) => {
      for (const [held, sign] of some) addTo(running, held.bytes, sign);
      for (let tile = 0; tile < tiles; tile++) {
        if (running[tile] > beside[tile]) {
          beside[tile] = running[tile];
          step[tile] = number;
        }
      }
    });
    return { always, beside, step, needed: arrayOf(of.memory.needed, tiles) };
  });
}

// Bytes of each group of memory on each tile, in the tile's own fullest step; the last are gaps.
function stacks(of) {
  return once(of, "stacks", () => {
    const { tiles } = of.machine;
    const found = GROUP_NAMES.map(() => perTile(of));
    const { step, needed } = peaks(of);
    for (const held of of.memory.held) {
      const group = found[groupOf(held.kind)];
      const numbers = arrayOf(held.bytes, tiles);
      for (let tile = 0; tile < tiles; tile++) {
        if (numbers[tile] && (held.steps === null || isIn(held, step[tile])))
          group[tile] += numbers[tile];
      }
    }
    for (let tile = 0; tile < tiles; tile++) {
      const used = found.reduce((total, group) => total + group[tile], 0);
      found[GAPS][tile] = needed[tile] - used;
    }
    return found;
  });
}

// What lies on a tile, the largest first: always, at its peak, or at other times.
function heldOn(of, tile) {
  return once(of, `held ${tile}`, () => {
    const peak = peaks(of).step[tile];
    const found = [];
    of.memory.held.forEach((held, number) => {
      const bytes = arrayOf(held.bytes, of.machine.tiles)[tile];
      const live =
        held.steps === null ? "always" : isIn(held, peak) ? "at the peak" : "not at the peak";
      if (bytes) found.push({ held, number, bytes, live });
    });
    return descending(found, ({ bytes }) => bytes);
  });
}

// The step of the report that a step of memory is, -1 where it did not run; and the other way
// round.
function ranAs(of, memoryStep) {
  return once(of, `ran ${memoryStep}`, () => {
    const { program, rows } = of.memory.steps[memoryStep] ?? { rows: [] };
    return stepAt(of, program, rows);
  });
}

// The step that a program has in one of some rows, -1 for none that ran.
const stepAt = (of, program, rows) =>
  of.steps.findIndex((step) => step.program === program && rows.includes(step.row));

function memoryStepOf(of, step) {
  if (step < 0 || !of.memory) return -1;
  const { program, row } = of.steps[step];
  return of.memory.steps.findIndex((each) => each.program === program && each.rows.includes(row));
}

function memoryStepName(of, number) {
  if (number < 0) return "every step";
  const step = ranAs(of, number);
  return step < 0 ? of.memory.steps[number].name : of.steps[step].name;
}

// -- arrays --------------------------------------------------------------------------------

// Loops: these go through every number of a page, and `reduce` takes several times as long.
function sum(numbers) {
  let total = 0;
  for (const each of numbers) total += each;
  return total;
}

function most(numbers) {
  let found = 0;
  for (const each of numbers) if (each > found) found = each;
  return found;
}

const least = (numbers) =>
  numbers.length ? numbers.reduce((found, each) => Math.min(found, each)) : 0;

// The last of some places whose number is at most another one; 0 where none is.  Numbers ascend.
function lastAtMost(number, count, numberAt) {
  let [low, high] = [0, count];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numberAt(middle) <= number) low = middle;
    else high = middle;
  }
  return low;
}

const worst = (numbers) => numbers.indexOf(most(numbers));
const descending = (rows, number) => rows.slice().sort((one, other) => number(other) - number(one));
