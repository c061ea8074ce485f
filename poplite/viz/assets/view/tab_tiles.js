// Tiles: every tile as a square, coloured by one number; below, how many tiles have how much.

// The numbers of tiles by a name of BY, in one step or (-1) in all; null where they are not known.
function measure(of, by, step) {
  if (by === "memory") return of.memory && peaks(of).needed;
  if (by === "live")
    return of.memory && (step < 0 ? peaks(of).beside : besideIn(of, memoryStepOf(of, step)));
  if (by === "vertices") return verticesOf(of, step);
  if (!of.steps.length) return null;
  if (by === "waited") return waiting(of, step);
  return by === "compute" ? phaseSum(of, "busy", step, "compute") : phaseSum(of, by, step);
}

function besideIn(of, memoryStep) {
  return once(of, `beside ${memoryStep}`, () => {
    const live = of.memory.held.filter((held) => isIn(held, memoryStep));
    return live.reduce((total, held) => addTo(total, held.bytes), perTile(of));
  });
}

function measureText(by, number) {
  if (["busy", "compute", "waited"].includes(by)) return rounded(number) + " cycles";
  return by === "vertices" ? rounded(number) + " vertices" : bytesText(number);
}

function tilesTab(of) {
  const step = chosenStep();
  const numbers = measure(of, state.by, state.by === "memory" ? -1 : step);
  const parts = [tools(choice("", "by", BY))];
  if (!numbers) return [...parts, of.modelled ? nothingRan() : notModelled()];
  const [low, high] = [least(numbers), most(numbers)];
  const from = state.from || (low > high / 2 && low < high ? "least" : "zero");
  const begin = from === "least" ? low : 0;
  const mean = sum(numbers) / numbers.length;
  const scale = (number) => (high > begin ? (number - begin) / (high - begin) : number ? 1 : 0);
  const chosen = { ...state };
  state.from = from;
  const colours = choice("colours", "from", { zero: "from 0", least: "from the least" });
  state.from = chosen.from;
  const facts = el(
    "span",
    { class: "soft" },
    "most ",
    bold(measureText(state.by, high)),
    ` on tile ${thousands(worst(numbers))} · mean ${measureText(state.by, mean)}`,
    ` · least ${measureText(state.by, low)} on tile ${thousands(numbers.indexOf(low))}`,
    ` · balance ${shareOf(mean, high)}`,
  );
  parts.push(
    tools(
      state.by === "memory" ? "" : stepChoice("step", `all ${amount(of.steps.length, "step")}`),
      colours,
      facts,
    ),
  );
  const limit = state.by === "memory" ? of.machine.limit : Infinity;
  return [
    ...parts,
    tileMap(of, numbers, scale, limit, BY[state.by], (number) => measureText(state.by, number)),
    heading("How many tiles have how much"),
    histogram(numbers, begin, high),
  ];
}

// Columns of the map, and the side of a square.
function mapShape(of) {
  const each = of.machine.tiles / of.machine.ipus;
  let columns = each <= 16 ? each : each <= 512 ? 32 : each <= 4096 ? 64 : 128;
  while (columns > 16 && (WIDTH - 50) / columns < 6) columns /= 2;
  const side = clip(Math.floor((WIDTH - 50) / columns), 2, 28);
  return { each, columns, side, rows: Math.ceil(each / columns) };
}

function tileMap(of, numbers, scale, limit, label, words, fill = rampColor) {
  const { each, columns, side, rows } = mapShape(of);
  const caption = of.machine.ipus > 1 ? 20 : 0;
  const block = rows * side + caption + (caption ? 8 : 0);
  const gap = side > 4 ? 1 : 0;
  const place = (tile) => {
    const own = tile % each;
    return [
      46 + (own % columns) * side,
      Math.floor(tile / each) * block + caption + Math.floor(own / columns) * side,
    ];
  };
  const paint = (pen) => {
    for (let ipu = 0; ipu < of.machine.ipus; ipu++) {
      if (caption) pen.text(`IPU ${ipu}`, 46, ipu * block + 13, "left", "ink", 12);
      for (let row = 0; row < rows; row += Math.ceil(12 / side)) {
        pen.text(
          thousands(ipu * each + row * columns),
          40,
          ipu * block + caption + row * side + Math.min(side, 14) - 2,
          "right",
        );
      }
    }
    numbers.forEach((number, tile) => {
      const [x, y] = place(tile);
      const over = number > limit;
      pen.rect(
        x,
        y,
        side - gap,
        side - gap,
        over ? "over" : number || scale(0) ? fill(scale(number)) : "empty",
      );
      if (over && side > 9) pen.text("!", x + side / 2, y + side - 3, "center", "page", side - 4);
    });
    const [x, y] = place(chosenTile());
    pen.frame(x - 0.5, y - 0.5, side, side, "page", 4);
    pen.frame(x - 0.5, y - 0.5, side, side, "mark", 2);
  };
  const at = (x, y) => {
    const [column, ipu] = [Math.floor((x - 46) / side), Math.floor(y / block)];
    const row = Math.floor((y - ipu * block - caption) / side);
    const own = row * columns + column;
    if (
      column < 0 ||
      column >= columns ||
      row < 0 ||
      row >= rows ||
      own >= each ||
      ipu >= of.machine.ipus
    )
      return null;
    const tile = ipu * each + own;
    return { tile, text: `tile ${thousands(tile)}\n${words(numbers[tile])}` };
  };
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  const keys = (event) => {
    if (!(event.key in moves)) return;
    event.preventDefault();
    go({ tile: clip(chosenTile() + moves[event.key], 0, numbers.length - 1) });
  };
  return figure({
    label: `Map of tiles: ${label}`,
    height: block * of.machine.ipus + 2,
    paint,
    at,
    keys,
  });
}

function histogram(numbers, begin, high) {
  const bins = 48;
  const wide = high - begin || 1;
  const counts = new Array(bins).fill(0);
  const bin = (number) => clip(Math.floor(((number - begin) / wide) * bins), 0, bins - 1);
  for (const number of numbers) counts[bin(number)]++;
  const highest = most(counts);
  const paint = (pen, width) => {
    const one = Math.min(width - 60, 640) / bins;
    pen.text(thousands(highest), 40, 32, "right");
    pen.text("tiles", 40, 45, "right");
    counts.forEach((count, number) => {
      const tall = count ? Math.max(2, (count / highest) * 60) : 0;
      pen.rect(46 + number * one, 86 - tall, one - 1, tall, rampColor((number + 0.5) / bins));
      pen.rect(46 + number * one, 87, one, 6, rampColor((number + 0.5) / bins));
    });
    pen.text(measureText(state.by, begin), 46, 107);
    pen.text(measureText(state.by, high), 46 + bins * one, 107, "right");
    const x = 46 + clip((numbers[chosenTile()] - begin) / wide, 0, 1) * bins * one;
    pen.line(x, 6, x, 94, "mark");
    const right = x > width / 2;
    pen.text(
      `tile ${thousands(chosenTile())}`,
      x + (right ? -4 : 4),
      12,
      right ? "right" : "left",
      "ink",
    );
  };
  return figure({ label: "How many tiles have how much", height: 112, paint });
}
