// Time: tiles from above, between syncs each going on by itself.  Where several share a row, it
// shows the busiest of them in each step, so that none is hidden that others wait for.  What is
// drawn costs pixels, not tiles times steps: each column finds its step and group by its time.

const STRIP = 22;
const ALONE = 12;

// Lanes of tiles: those that are shown, and where these are many or not all, in a row each: the
// slowest in each step, which decide when all ends, the slowest of all steps, and the chosen tile.
function lanesOf(of) {
  const order = busiestFirst(of);
  const shown = order.slice(...rangeOf(state.zoom, order.length));
  const lanes = [{ y: STRIP, tall: clip(shown.length * 8, 96, 320), tiles: shown }];
  if (order.length <= 40 && shown.length === order.length) return lanes;
  const below = STRIP + lanes[0].tall - 10;
  const add = (name, tiles) =>
    lanes.push({ name, tiles, tall: ALONE, y: below + 16 * lanes.length });
  const slowest = worst(phaseSum(of, "busy", -1));
  add("deciding", order);
  add("slowest " + thousands(slowest), [slowest]);
  add("chosen " + thousands(chosenTile()), [chosenTile()]);
  return lanes;
}

// The tile that is busiest in a group, of those from one place to another.
function busiestOf({ busy }, { tiles, from, to }) {
  let found = tiles[from];
  for (let place = from + 1; place < to; place++)
    if (busy[tiles[place]] > busy[found]) found = tiles[place];
  return found;
}

const rowOfTiles = ({ name, tall, tiles }, y, step) => {
  if (name) return { tiles, from: 0, to: tiles.length };
  const from = clip(Math.floor((y / tall) * tiles.length), 0, tiles.length - 1);
  return { tiles, from, to: Math.max(from + 1, Math.floor(((y + step) / tall) * tiles.length)) };
};

// Chooses a range that is wider by `times` about a place in it, and `move` further on.
function lookAt(name, [from, to], whole, times, about, move = 0) {
  const wide = clip(Math.round((to - from) * times), Math.min(8, whole), whole);
  const begin = Math.round(about - ((about - from) / (to - from)) * wide + move);
  const first = clip(begin, 0, whole - wide);
  go({ [name]: wide < whole ? `${first}-${first + wide}` : "" });
}

function timeline(of) {
  const { parts, end } = course(of);
  const { tiles } = of.machine;
  if (!parts.length) return nothingRan();
  const whole = Math.ceil(end);
  const [from, to] = rangeOf(state.win, whole);
  const span = WIDTH - LEFT - 8;
  const lanes = lanesOf(of);
  const bottom = lanes[lanes.length - 1].y + lanes[lanes.length - 1].tall;
  const timeAt = (x) => from + ((x - LEFT) / span) * (to - from);
  const xOf = (time) => LEFT + ((time - from) / (to - from)) * span;
  const within = (part, time) => (time - part.begin) % part.each;
  const paint = (pen, width) => {
    paintTiles(of, pen, { parts, from, to, span, lanes, bottom, within });
    for (const part of parts) {
      const [x1, x2] = [Math.max(LEFT, xOf(part.begin)), Math.min(width - 8, xOf(part.end))];
      if (x2 <= x1) continue;
      const isOn = part.step === chosenStep();
      const wide = Math.max(isOn ? 2 : 0.5, x2 - x1 - 1);
      pen.rect(x1, 0, wide, STRIP - 4, isOn ? "accent" : "empty");
      if (isOn) for (const y of [STRIP - 3, bottom + 1]) pen.rect(x1, y, wide, 2, "mark");
      if (x2 - x1 > 30)
        pen.text(
          shortened(of.steps[part.step].name, Math.floor((x2 - x1) / 6.4)),
          x1 + 4,
          13,
          "left",
          isOn ? "page" : "ink",
        );
    }
    labelLanes(of, pen, lanes);
    for (const each of ticks(from, to, Math.min(7, span / 90)))
      axisText(pen, thousands(each), xOf(each), bottom + 16, LEFT - 2, width);
    pen.text("cycles", LEFT - 8, bottom + 16, "right");
  };
  const at = (x, y) => {
    if (x < LEFT || x > LEFT + span || y > bottom) return null;
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
    const lane = lanes.findLast((each) => each.y <= y);
    const place = groupAt(of, part.step, within(part, time));
    const tile = busiestOf(place.group, rowOfTiles(lane, y - lane.y, 1));
    return {
      tile,
      step: part.step,
      text:
        `${stepTitle(part.step)}\ntile ${thousands(tile)}: ${PHASES[kindAt(of, place, tile)]}\n` +
        `cycle ${rounded(Math.floor(time))}`,
    };
  };
  const drag = (x1, x2) => {
    const first = Math.max(0, Math.floor(timeAt(Math.max(LEFT, x1))));
    go({ win: `${first}-${Math.max(first + 1, Math.ceil(timeAt(x2)))}` });
  };
  const rows = rangeOf(state.zoom, tiles);
  const look = (times, about = (from + to) / 2, move = 0) =>
    lookAt("win", [from, to], whole, times, about, move * (to - from));
  const lookDown = (times, share = 0.5, move = 0) => {
    const wide = rows[1] - rows[0];
    lookAt("zoom", rows, tiles, times, rows[0] + share * wide, move * wide);
  };
  const pan = (dx, dy) => {
    look(1, from, -dx / span);
    if (state.zoom) lookDown(1, 0, -dy / lanes[0].tall);
  };
  const wheel = (event) => {
    const closer = event.deltaY < 0 || event.deltaX < 0;
    if (!closer && !(event.shiftKey ? state.zoom : state.win)) return;
    event.preventDefault();
    const times = closer ? 0.7 : 1 / 0.7;
    if (event.shiftKey) lookDown(times, clip((event.offsetY - STRIP) / lanes[0].tall, 0, 1));
    else look(times, timeAt(event.offsetX));
  };
  const moves = {
    "+": () => look(0.5),
    "-": () => look(2),
    ArrowLeft: () => look(1, from, -0.2),
    ArrowRight: () => look(1, from, 0.2),
    ArrowUp: () => lookDown(1, 0, -0.2),
    ArrowDown: () => lookDown(1, 0, 0.2),
    PageUp: () => lookDown(0.5),
    PageDown: () => lookDown(2),
  };
  const keys = (event) => {
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  };
  const label = "Time of all tiles";
  const undrag = () => go({ win: "", zoom: "" });
  const height = bottom + 22;
  return figure({ label, height, paint, at, drag, undrag, pan, wheel, keys, svg: false });
}

function labelLanes(of, pen, lanes) {
  const [{ y: top, tall, tiles }] = lanes;
  const { ipus, tiles: all } = of.machine;
  const [first] = rangeOf(state.zoom, all);
  for (let ipu = 1; ipu < ipus && state.rows !== "most"; ipu++) {
    const y = top + (((all * ipu) / ipus - first) / tiles.length) * tall;
    if (y <= top || y >= top + tall) continue;
    pen.rect(LEFT - 12, y - 0.5, 10, 1, "mark");
    pen.text(`IPU ${ipu}`, LEFT - 14, y + 4, "right");
  }
  pen.text("tile", LEFT - 8, 13, "right");
  pen.text(thousands(tiles[0]), LEFT - 13, top + 10, "right");
  pen.text(thousands(tiles[tiles.length - 1]), LEFT - 13, top + tall, "right");
  for (const { name, y } of lanes.slice(1)) pen.text(name, LEFT - 3, y + 10, "right", "soft", 10);
  const place = tiles.indexOf(chosenTile());
  if (place >= 0)
    pen.text("▸", LEFT - 2, top + ((place + 0.5) / tiles.length) * tall + 4, "right", "mark", 12);
}

// What the range of time that is looked at is spent on.
function rangeSpent(of) {
  const { parts, end } = course(of);
  if (!state.win || !parts.length) return "";
  const [from, to] = rangeOf(state.win, Math.ceil(end));
  const spent = timeParts(spentIn(of, parts, from, Math.min(to, end)));
  return tools(
    `${thousands(to - from)} cycles from ${thousands(from)} on, which tiles spend on average on`,
    legend(spent, to - from),
  );
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
  const names = shown.lanes.map(({ name }) => name);
  const { from, to, span } = shown;
  const key = [from, to, span, ratio, state.run, state.rows, state.zoom, ...names];
  const image = kept("time", key, () => imageOfTiles(of, ratio, shown));
  pen.context.putImageData(image, Math.round(LEFT * ratio), Math.round(STRIP * ratio));
}

function imageOfTiles(of, ratio, { parts, from, to, span, lanes, bottom, within }) {
  const columns = Math.round(span * ratio);
  const image = new ImageData(columns, Math.round((bottom - STRIP) * ratio));
  const pixels = new Uint32Array(image.data.buffer);
  const inks = new Map(Object.keys(PHASES).map((kind) => [kind, inkOf(color(phaseColor(kind)))]));
  const empty = inkOf(color("empty"));
  const rows = lanes.flatMap((lane) =>
    Array.from({ length: Math.round(lane.tall * ratio) }, (_, y) => ({
      ...rowOfTiles(lane, y / ratio, 1 / ratio),
      at: (Math.round((lane.y - STRIP) * ratio) + y) * columns,
    })),
  );
  const end = parts[parts.length - 1].end;
  let [last, busy, ink] = [null, [], []];
  for (let column = 0; column < columns; column++) {
    const time = Math.min(from + ((column + 0.5) / columns) * (to - from), end - 1e-9);
    const part = partAt(parts, time);
    const { group, left } = groupAt(of, part.step, within(part, time));
    if (group !== last) {
      last = group;
      busy = group.phases.map((phase) => arrayOf(phase.busy, of.machine.tiles));
      ink = group.phases.map((phase) => inks.get(phase.kind));
      for (const row of rows) row.tile = busiestOf(group, row);
    }
    for (let row = 0; row < rows.length; row++) {
      const { tile, at } = rows[row];
      let [rest, number] = [left, 0];
      while (number < busy.length && (rest -= busy[number][tile]) >= 0) number++;
      const isLine = (column + row) % (5 * ratio) < 2 * ratio;
      const waits = isLine ? inks.get("waiting") : empty;
      pixels[at + column] = left < 0 ? inks.get("sync") : (ink[number] ?? waits);
    }
  }
  return image;
}

// A colour such as #0072b2 as the number that four bytes of a picture are.
function inkOf(hex) {
  const number = parseInt(hex.slice(1), 16);
  return (0xff000000 | ((number & 0xff) << 16) | (number & 0xff00) | (number >> 16)) >>> 0;
}
