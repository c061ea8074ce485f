// Which tile has which elements of a variable: all of them in rows, and its memory as one strip.

const MOST_DOWN = 200;
const MOST_ACROSS = 640;
const TILE_COLORS = [
  ...["phase-compute", "phase-copy", "phase-exchange", "phase-host-exchange"],
  ...["phase-global-exchange", "memory-5"],
];
const ON_TILE_COLORS = [
  "on-memory-0",
  "on-memory-2",
  "on-memory-1",
  ...Array(2).fill("on-memory-3"),
  "on-memory-5",
];

// Pieces of a variable, each on one tile: where they begin, and the tile, -1 for none.
function piecesOf(held) {
  return once(held, "pieces", () => {
    const { count, steps, tiles } = held.pieces;
    let begin = 0;
    const begins = Float64Array.from(arrayOf(steps, count), (step) => (begin += step));
    return { begins, tiles: Float64Array.from(arrayOf(tiles, count), (tile) => tile - 1) };
  });
}

// The number of the piece that an element is in.
const pieceAt = ({ begins }, element) =>
  lastAtMost(element, begins.length, (piece) => begins[piece]);

// How many elements are drawn in a row: those of the last axes, of so many that the picture is
// somewhat wider than high.
function rowLength(shape) {
  const lengths = shape.map((_, axis) => shape.slice(axis).reduce((one, size) => one * size, 1));
  const apart = (length) => Math.abs(Math.log((length * length) / lengths[0] / 3));
  const [first = 1, ...others] = lengths;
  return others.length ? others.reduce((a, b) => (apart(b) < apart(a) ? b : a)) : first;
}

// Rows and columns of cells; a cell stands for its middle element where there are too many.
function cellsOf(held) {
  return once(held, "cells", () => {
    const size = held.shape.reduce((product, each) => product * each, 1);
    const columns = rowLength(held.shape);
    const rows = size / columns;
    const [down, across] = [Math.min(rows, MOST_DOWN), Math.min(columns, MOST_ACROSS)];
    const pieces = piecesOf(held);
    const middle = (cell, cells, all) => Math.floor(((cell + 0.5) * all) / cells);
    const element = (row, column) =>
      middle(row, down, rows) * columns + middle(column, across, columns);
    const tiles = new Int32Array(down * across);
    for (let row = 0, cell = 0; row < down; row++)
      for (let column = 0; column < across; column++)
        tiles[cell++] = pieces.tiles[pieceAt(pieces, element(row, column))];
    return { size, rows, columns, down, across, element, tiles };
  });
}

// A colour of six for each tile, other than those of tiles beside it where that can be.
function tileColors(held) {
  return once(held, "colors", () => {
    const { across, tiles } = cellsOf(held);
    const beside = new Map();
    for (const tile of tiles) if (!beside.has(tile)) beside.set(tile, new Set());
    const meet = (one, other) => {
      if (one === other) return;
      beside.get(one).add(other);
      beside.get(other).add(one);
    };
    for (let cell = 0; cell < tiles.length; cell++) {
      if ((cell + 1) % across) meet(tiles[cell], tiles[cell + 1]);
      if (cell + across < tiles.length) meet(tiles[cell], tiles[cell + across]);
    }
    const found = new Map();
    [...beside.keys()]
      .sort((one, other) => one - other)
      .forEach((tile, rank) => {
        const taken = new Set([...beside.get(tile)].map((other) => found.get(other)));
        const turned = TILE_COLORS.map((_, k) => (rank + k) % TILE_COLORS.length);
        found.set(tile, turned.find((each) => !taken.has(each)) ?? turned[0]);
      });
    return found;
  });
}

// An element by its indices, for example x[3, 5].
function elementText(held, element) {
  const indices = [];
  let rest = element;
  for (const size of held.shape.slice().reverse()) {
    indices.unshift(thousands(rest % size));
    rest = Math.floor(rest / size);
  }
  return `${held.name}[${indices.join(", ")}]`;
}

const tileText = (tile) => (tile < 0 ? "on no tile" : `on tile ${thousands(tile)}`);

function elementsFigure(held) {
  const { rows, columns, down, across, element, tiles } = cellsOf(held);
  const colors = tileColors(held);
  const wide = Math.min(28, (WIDTH - 16) / across);
  const tall = clip(Math.floor(240 / down), 1, 20);
  const paint = (pen) => {
    const chosen = chosenTile();
    for (let row = 0; row < down; row++) {
      for (let column = 0, end; column < across; column = end) {
        const tile = tiles[row * across + column];
        for (end = column + 1; end < across && tiles[row * across + end] === tile;) end++;
        const fill = tile < 0 ? "empty" : TILE_COLORS[colors.get(tile)];
        pen.rect(8 + column * wide, 2 + row * tall, (end - column) * wide, tall, fill);
      }
    }
    const hasNumbers = down === rows && across === columns && tall >= 12;
    tiles.forEach((tile, cell) => {
      if (tile !== chosen && !hasNumbers) return;
      const [row, column] = [Math.floor(cell / across), cell % across];
      const [x, y] = [8 + column * wide, 2 + row * tall];
      const number = hasNumbers ? thousands(element(row, column)) : "";
      if (number && wide > 7 * number.length + 2) {
        const on = tile < 0 ? "soft" : ON_TILE_COLORS[colors.get(tile)];
        pen.text(number, x + wide / 2, y + tall / 2 + 4, "center", on, 10);
      }
      if (tile !== chosen) return;
      const other = (near, isThere) => !isThere || tiles[near] !== chosen;
      if (other(cell - across, row)) pen.rect(x, y - 1, wide, 2, "mark");
      if (other(cell + across, row + 1 < down)) pen.rect(x, y + tall - 1, wide, 2, "mark");
      if (other(cell - 1, column)) pen.rect(x - 1, y, 2, tall, "mark");
      if (other(cell + 1, column + 1 < across)) pen.rect(x + wide - 1, y, 2, tall, "mark");
    });
  };
  const at = (x, y) => {
    const [row, column] = [Math.floor((y - 2) / tall), Math.floor((x - 8) / wide)];
    if (row < 0 || row >= down || column < 0 || column >= across) return null;
    const [tile, found] = [tiles[row * across + column], element(row, column)];
    const text = `${elementText(held, found)}, element ${thousands(found)}\n${tileText(tile)}`;
    return tile < 0 ? { text } : { tile, text };
  };
  const label = `Elements of ${held.name} by tile`;
  return figure({ label, height: down * tall + 6, paint, at });
}

// The memory of a variable from its first element to its last.
function memoryStrip(held) {
  const { size } = cellsOf(held);
  const pieces = piecesOf(held);
  const colors = tileColors(held);
  const span = WIDTH - 16;
  const endOf = (piece) => pieces.begins[piece + 1] ?? size;
  const paint = (pen, width) => {
    pen.rect(8, 4, span, 22, "empty");
    for (const { left, wide, from } of columnsOf(0, size, span)) {
      const tile = pieces.tiles[pieceAt(pieces, from)];
      if (tile >= 0) pen.rect(8 + left, 4, wide + 0.5, 22, TILE_COLORS[colors.get(tile) ?? 0]);
      if (tile === chosenTile()) pen.rect(8 + left, 26, wide + 0.5, 3, "mark");
    }
    for (const each of ticks(0, size, Math.min(6, width / 110)))
      axisText(pen, thousands(each), 8 + (each / size) * span, 42, 8, width);
  };
  const at = (x) => {
    const piece = pieceAt(pieces, clip(((x - 8) / span) * size, 0, size - 1));
    const tile = pieces.tiles[piece];
    const text =
      `elements ${thousands(pieces.begins[piece])} to ${thousands(endOf(piece) - 1)}\n` +
      tileText(tile);
    return tile < 0 ? { text } : { tile, text };
  };
  return figure({ label: `Memory of ${held.name} by tile`, height: 48, paint, at });
}

// What of a variable the chosen tile has, in intervals.
function intervalsText(held) {
  const { size } = cellsOf(held);
  const { begins, tiles } = piecesOf(held);
  const tile = chosenTile();
  const found = [];
  let elements = 0;
  tiles.forEach((each, piece) => {
    if (each !== tile) return;
    const end = begins[piece + 1] ?? size;
    elements += end - begins[piece];
    found.push(`[${thousands(begins[piece])}, ${thousands(end)})`);
  });
  if (!found.length) return `Tile ${thousands(tile)} has none of it.`;
  const more = found.length > 4 ? ` and ${thousands(found.length - 4)} more` : "";
  const which = `${amount(found.length, "interval")}: ${found.slice(0, 4).join(", ")}${more}`;
  return `Tile ${thousands(tile)} has ${amount(elements, "element")} in ${which}.`;
}

function variablePicture(held) {
  const { rows, columns, down, across } = cellsOf(held);
  const isWhole = down === rows && across === columns;
  const drawn = isWhole ? "" : `, drawn as ${thousands(down)} × ${thousands(across)} blocks`;
  return [
    remark(`Elements in rows of ${thousands(columns)}, coloured by tile${drawn}. `),
    elementsFigure(held),
    ...(rows > 1
      ? [remark("Its memory, from the first element to the last"), memoryStrip(held)]
      : []),
    remark(intervalsText(held)),
  ];
}
