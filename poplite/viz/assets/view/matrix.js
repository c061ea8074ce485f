// From where to where: a square for each pair of tiles, or of blocks of tiles.

const MOST_BLOCKS = 64;

// Bytes by receiver and source, in blocks of as many tiles as fit; null where what moves is not
// known of pairs, other than what the host sends and receives.
function pairsOf(of, step) {
  return once(of, `pairs ${step}`, () => {
    const phases = phasesIn(of, step).filter((phase) => phase.pairs);
    const others = phasesIn(of, step).filter((phase) => !phase.pairs && moves(phase));
    if (!phases.length || others.some((phase) => phase.kind !== "host exchange")) return null;
    const { tiles } = of.machine;
    const kept = Math.max(...phases.map((phase) => phase.pairs.block));
    const block = kept * Math.ceil(tiles / MOST_BLOCKS / kept);
    const size = Math.ceil(tiles / block);
    const bytes = new Float64Array(size * size);
    for (const { pairs } of phases) {
      const blockOf = (place) => Math.floor((place * pairs.block) / block);
      for (const [source, receiver, each] of singlePairs(pairs))
        bytes[blockOf(receiver) * size + blockOf(source)] += each;
    }
    const hosted = sum(phaseSum(of, "received", step, "host exchange"));
    return { block, size, bytes, hosted, largest: largestPairs(phases) };
  });
}

function largestPairs(phases) {
  const found = new Map();
  for (const { pairs } of phases) {
    const known = pairs.block > 1 ? pairs.largest : singlePairs(pairs);
    for (const [source, receiver, bytes] of known) {
      const key = source + " " + receiver;
      found.set(key, (found.get(key) ?? 0) + bytes);
    }
  }
  const listed = [...found].map(([key, bytes]) => [...key.split(" ").map(Number), bytes]);
  return descending(listed, ([, , bytes]) => bytes).slice(0, 10);
}

// Source, receiver and bytes of each pair; what is listed are the distances between pairs.
function singlePairs(pairs) {
  const [steps, values] = [arrayOf(pairs.steps, pairs.count), arrayOf(pairs.bytes, pairs.count)];
  let place = 0;
  return Array.from({ length: pairs.count }, (_, number) => {
    place += steps[number];
    return [place % pairs.blocks, Math.floor(place / pairs.blocks), values[number]];
  });
}

function missingPairs(of, step) {
  const moving = phasesIn(of, step).filter(moves);
  if (!moving.length) return "Nothing moves from tile to tile here.";
  if (moving.some((phase) => phase.kind === "host exchange"))
    return "From where to where is not drawn: the host takes part.";
  return "From where to where is not known: the report was saved by an older poplite.";
}

// Whether tiles receive anything in a phase.
const moves = (phase) => phase.received.c !== 0;

function exchangeMatrix(of, step) {
  const found = pairsOf(of, step);
  if (!found) return [note(missingPairs(of, step))];
  const { block, size, bytes, hosted, largest } = found;
  const high = most(bytes);
  const side = clip(Math.floor(Math.min(WIDTH - LEFT - 24, 520) / size), 2, 22);
  const named = (number) => {
    const last = Math.min(of.machine.tiles, (number + 1) * block) - 1;
    return block === 1 ? thousands(number) : `${thousands(number * block)}–${thousands(last)}`;
  };
  const paint = (pen) => {
    pen.rect(LEFT, 22, size * side, size * side, "empty");
    const inside = side - (side > 4 ? 1 : 0);
    bytes.forEach((each, place) => {
      if (each)
        pen.rect(
          LEFT + (place % size) * side,
          22 + Math.floor(place / size) * side,
          inside,
          inside,
          rampColor(each / high),
        );
    });
    pen.text("from tile →", LEFT, 14);
    pen.text("to tile ↓", LEFT - 6, 14, "right");
    for (const each of ticks(0, size - 1, Math.min(8, (size * side) / 40))) {
      pen.text(thousands(each * block), LEFT - 6, 22 + each * side + Math.min(side, 11), "right");
      if (each * side >= 80) pen.text(thousands(each * block), LEFT + each * side, 14);
    }
    const chosen = Math.floor(chosenTile() / block);
    pen.frame(LEFT, 22 + chosen * side - 0.5, size * side, side, "mark", 1);
    pen.frame(LEFT + chosen * side - 0.5, 22, side, size * side, "mark", 1);
  };
  const at = (x, y) => {
    const [column, row] = [Math.floor((x - LEFT) / side), Math.floor((y - 22) / side)];
    if (column < 0 || row < 0 || column >= size || row >= size) return null;
    return {
      tile: row * block,
      text: `from ${named(column)} to ${named(row)}\n${bytesText(bytes[row * size + column])}`,
    };
  };
  const square = block === 1 ? "a pair of tiles" : `${block} × ${block} tiles`;
  const words =
    `Each square is ${square}; the most is ${bytesText(high)}. Rows add up to what tiles ` +
    "receive; a byte that goes to several tiles counts for each of them." +
    (hosted ? ` What the host sends, ${bytesText(hosted)}, is not drawn.` : "");
  const columns = [
    counted("from tile", (row) => row[0]),
    counted("to tile", (row) => row[1]),
    counted("bytes", (row) => row[2], bytesText),
  ];
  const rows = table(columns, largest, { pick: (row) => go({ tile: row[1] }) });
  const picture = figure({
    label: "Bytes from tile to tile",
    height: 24 + size * side,
    width: LEFT + size * side + 24,
    paint,
    at,
  });
  const largestOf = el("div", {}, heading("The largest pairs of tiles"), rows);
  return [
    heading("From where to where"),
    remark(words),
    el("div", { class: "columns wider" }, picture, largestOf),
  ];
}
