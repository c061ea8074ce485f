// Time: all tiles, one row a tile, between syncs each going on by itself.  What is drawn costs
// pixels, not tiles times steps: each column finds its step and group by its time.

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

function partAt(parts, time) {
  let [low, high] = [0, parts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (parts[middle].begin <= time) low = middle;
    else high = middle - 1;
  }
  return parts[low];
}

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

const STRIP = 22;

function timeline(of) {
  const { parts, end } = course(of);
  const { tiles } = of.machine;
  if (!parts.length) return nothingRan();
  const [from, to] = rangeOf(state.win, Math.ceil(end));
  const span = WIDTH - LEFT - 8;
  const tall = Math.max(96, Math.min(320, tiles * 8));
  const order = busiestFirst(of);
  const rowTile = (y) => order[clip(Math.floor(((y - STRIP) / tall) * tiles), 0, tiles - 1)];
  const timeAt = (x) => from + ((x - LEFT) / span) * (to - from);
  const xOf = (time) => LEFT + ((time - from) / (to - from)) * span;
  const within = (part, time) => (time - part.begin) % part.each;
  const paint = (pen, width) => {
    paintTiles(of, pen, { parts, from, to, span, tall, order, within });
    const { ipus } = of.machine;
    for (let ipu = 1; ipu < ipus && state.rows !== "most"; ipu++) {
      const y = STRIP + (tall * ipu) / ipus;
      pen.rect(LEFT - 4, y - 0.5, span + 4, 1, "mark");
      pen.text(`IPU ${ipu}`, LEFT - 8, y + 4, "right");
    }
    for (const part of parts) {
      const [x1, x2] = [Math.max(LEFT, xOf(part.begin)), Math.min(width - 8, xOf(part.end))];
      if (x2 <= x1) continue;
      const isOn = part.step === chosenStep();
      pen.rect(x1, 0, Math.max(0.5, x2 - x1 - 1), STRIP - 4, isOn ? "accent" : "empty");
      if (x2 - x1 > 30)
        pen.text(
          shortened(of.steps[part.step].name, Math.floor((x2 - x1) / 6.4)),
          x1 + 4,
          13,
          "left",
          isOn ? "page" : "ink",
        );
      if (isOn && x2 - x1 > 3) pen.frame(x1, STRIP, x2 - x1 - 1, tall, "mark", 1.5);
    }
    pen.text("tile", LEFT - 8, 13, "right");
    pen.text(thousands(order[0]), LEFT - 13, STRIP + 10, "right");
    pen.text(thousands(order[tiles - 1]), LEFT - 13, STRIP + tall, "right");
    const y = STRIP + ((order.indexOf(chosenTile()) + 0.5) / tiles) * tall;
    pen.text("▸", LEFT - 2, y + 4, "right", "mark", 12);
    for (const each of ticks(from, to, Math.min(7, span / 90)))
      axisText(pen, thousands(each), xOf(each), STRIP + tall + 16, LEFT - 2, width);
    pen.text("cycles", LEFT - 8, STRIP + tall + 16, "right");
  };
  const at = (x, y) => {
    if (x < LEFT || x > LEFT + span || y > STRIP + tall) return null;
    const time = timeAt(x);
    const part = partAt(parts, time);
    const step = of.steps[part.step];
    if (y < STRIP)
      return {
        step: part.step,
        text:
          `${stepTitle(part.step)}\n` +
          `${amount(step.cycles, "cycle")} in ${amount(step.times, "time")}`,
      };
    const tile = rowTile(y);
    const kind = kindAt(of, groupAt(of, part.step, within(part, time)), tile);
    return {
      tile,
      step: part.step,
      text:
        `${stepTitle(part.step)}\ntile ${thousands(tile)}: ${PHASES[kind]}\n` +
        `cycle ${rounded(Math.floor(time))}`,
    };
  };
  const drag = (x1, x2) => {
    const first = Math.max(0, Math.floor(timeAt(Math.max(LEFT, x1))));
    go({ win: `${first}-${Math.max(first + 1, Math.ceil(timeAt(x2)))}` });
  };
  return figure({
    label: "Time of all tiles",
    height: STRIP + tall + 22,
    paint,
    at,
    drag,
    undrag: () => go({ win: "" }),
    svg: false,
  });
}

function busiestFirst(of) {
  return once(of, "busiest " + state.rows, () => {
    const order = Array.from({ length: of.machine.tiles }, (_, tile) => tile);
    if (state.rows !== "most") return order;
    const busy = phaseSum(of, "busy", -1);
    return order.sort((one, other) => busy[other] - busy[one]);
  });
}

// Paints a pixel for each column of time and row of tiles.
function paintTiles(of, pen, shown) {
  const ratio = window.devicePixelRatio || 1;
  const key = [shown.from, shown.to, shown.span, shown.tall, ratio, state.run, state.rows];
  const image = kept("time", key, () => imageOfTiles(of, ratio, shown));
  pen.context.putImageData(image, Math.round(LEFT * ratio), Math.round(STRIP * ratio));
}

function imageOfTiles(of, ratio, { parts, from, to, span, tall, order, within }) {
  const [columns, rows] = [Math.round(span * ratio), Math.round(tall * ratio)];
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const inks = new Map(Object.keys(PHASES).map((kind) => [kind, inkOf(color(phaseColor(kind)))]));
  const tileOf = Int32Array.from(
    { length: rows },
    (_, row) => order[Math.floor((row * order.length) / rows)],
  );
  const end = parts[parts.length - 1].end;
  for (let column = 0; column < columns; column++) {
    const time = Math.min(from + ((column + 0.5) / columns) * (to - from), end - 1e-9);
    const part = partAt(parts, time);
    const { group, left } = groupAt(of, part.step, within(part, time));
    if (left < 0) {
      for (let row = 0; row < rows; row++) pixels[row * columns + column] = inks.get("sync");
      continue;
    }
    const busy = group.phases.map((phase) => arrayOf(phase.busy, of.machine.tiles));
    const ink = group.phases.map((phase) => inks.get(phase.kind));
    for (let row = 0; row < rows; row++) {
      let [rest, number] = [left, 0];
      while (number < busy.length && (rest -= busy[number][tileOf[row]]) >= 0) number++;
      pixels[row * columns + column] = number < busy.length ? ink[number] : inks.get("waiting");
    }
  }
  return image;
}

// A colour such as #0072b2 as the number that four bytes of a picture are.
function inkOf(hex) {
  const number = parseInt(hex.slice(1), 16);
  return (0xff000000 | ((number & 0xff) << 16) | (number & 0xff00) | (number >> 16)) >>> 0;
}
