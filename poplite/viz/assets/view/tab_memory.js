// Memory: a bar for each tile at its own fullest step, and what lies on the chosen tile.

const LEFT = 74;

function memoryTab(of) {
  if (!of.memory) return [notModelled()];
  const tile = chosenTile();
  const { needed, step, always, beside } = peaks(of);
  const { limit, tiles } = of.machine;
  const over = needed.filter((bytes) => bytes > limit).length;
  const [first, end] = rangeOf(state.zoom, tiles);
  const rows = heldOn(of, tile);
  const facts = el("span", { class: over ? "overText" : "soft" }, over ? `! ${amount(over, "tile")} over the limit of ${bytesText(limit)}` : `limit ${bytesText(limit)} · most ${bytesText(most(needed))}`);
  const kinds = GROUP_NAMES.map((name, number) => [name, sum(stacks(of)[number]), "memory-" + number]).filter((part) => part[1] > 0);
  return [
    tools(choice("tiles", "rows", { number: "by number", most: "fullest first" }), choice("height", "height", { fullest: "fullest tile", limit: "limit" }), facts, state.zoom ? el("button", { onclick: () => go({ zoom: "" }) }, "all tiles") : ""),
    legend(kinds),
    memoryBars(of, first, end),
    overviewStrip(of, first, end),
    heading(`On tile ${thousands(tile)}: ${bytesText(needed[tile])} with gaps; ${bytesText(always[tile])} always live${step[tile] < 0 ? "" : `, ${bytesText(beside[tile])} beside it in ${memoryStepName(of, step[tile])}`}`),
    addressStrip(of, tile),
    table(
      [
        { name: "what", label: true, text: ({ held }) => [swatch("memory-" + groupOf(held.kind)), held.name] },
        { name: "kind", text: ({ held }) => held.kind.replaceAll("_", " "), words: true, narrow: false },
        { name: "bytes", number: true, text: ({ bytes }) => bytesText(bytes), sort: (row) => row.bytes },
        { name: "live", text: ({ live }) => live, narrow: false },
        { name: "line", text: ({ held }) => lineOf(held.at), narrow: false },
      ],
      rows,
      { isPale: ({ live }) => live === "not at the peak", isOn: ({ number }) => number === state.held, pick: ({ number }) => go({ held: number }) },
    ),
  ];
}

// Tiles in the order in which they are drawn.
function tileOrder(of) {
  return once(of, "order " + state.rows, () => {
    const { needed } = peaks(of);
    const order = Array.from(needed.keys());
    return state.rows === "most" ? order.sort((one, other) => needed[other] - needed[one]) : order;
  });
}

// Draws the stacks of tiles `first` to `end` in a box; where tiles are narrower than a pixel, the
// fullest of each pixel.  Returns the tile at each pixel.
function paintStacks(of, pen, { first, end, x, width, base, tall, high, limit }) {
  const { needed } = peaks(of);
  const order = tileOrder(of);
  const columns = Math.min(width, end - first);
  const wide = width / columns;
  for (let column = 0; column < columns; column++) {
    const from = first + Math.floor((column * (end - first)) / columns);
    const to = Math.max(from + 1, first + Math.floor(((column + 1) * (end - first)) / columns));
    let tile = order[from];
    for (let each = from + 1; each < to; each++) if (needed[order[each]] > needed[tile]) tile = order[each];
    let y = base;
    stacks(of).forEach((group, number) => {
      const size = (group[tile] / high) * tall;
      if (size <= 0) return;
      y -= size;
      pen.rect(x + column * wide, y, Math.max(wide - (wide > 4 ? 1 : 0), 0.7), size + 0.3, "memory-" + number);
    });
    if (needed[tile] > limit && high >= limit) {
      const top = base - (limit / high) * tall;
      pen.rect(x + column * wide, y, Math.max(wide - (wide > 4 ? 1 : 0), 0.7), top - y, "over");
      if (wide > 6) pen.text("!", x + (column + 0.5) * wide + (wide > 30 ? 12 : 0), y + 13, "center", "on-over", 12);
    }
  }
}

function memoryBars(of, first, end) {
  const { needed } = peaks(of);
  const { limit } = of.machine;
  const order = tileOrder(of);
  const high = state.height === "limit" ? Math.max(limit, most(needed)) : most(needed);
  const [top, base] = [20, 280];
  const span = WIDTH - LEFT - 8;
  const tileAt = (x) => order[Math.max(first, Math.min(end - 1, first + Math.floor(((x - LEFT) / span) * (end - first))))];
  const paint = (pen, width) => {
    for (const each of ticks(0, high, 4)) {
      const y = base - (each / (high || 1)) * (base - top);
      pen.line(LEFT, y, width - 8, y, "line");
      pen.text(bytesText(each), LEFT - 6, y + 4, "right");
    }
    paintStacks(of, pen, { first, end, x: LEFT, width: span, base, tall: base - top, high: high || 1, limit });
    if (high >= limit) {
      const y = base - (limit / high) * (base - top);
      pen.line(LEFT, y, width - 8, y, "over", [5, 4]);
      pen.text("limit", width - 10, y - 4, "right", "over");
    }
    const label = state.rows === "most" ? "tiles, fullest first" : "tile";
    for (const each of ticks(first, end - 1, Math.min(8, span / 70))) axisText(pen, thousands(each), LEFT + ((each - first + 0.5) / (end - first)) * span, base + 16, LEFT - 2, width);
    pen.text(label, LEFT - 6, base + 16, "right");
    const place = order.indexOf(chosenTile());
    if (place >= first && place < end) {
      const x = LEFT + ((place - first + 0.5) / (end - first)) * span;
      pen.line(x, top - 6, x, base, "mark");
      pen.mark(x, top - 4);
    }
  };
  const at = (x, y) => {
    if (y > base + 4 || x < LEFT) return null;
    const tile = tileAt(x);
    return { tile, text: `tile ${thousands(tile)}\n${bytesText(needed[tile])}, ${shareOf(needed[tile], limit)} of the limit` };
  };
  const index = (x) => Math.max(first, Math.min(end, first + Math.round(((x - LEFT) / span) * (end - first))));
  const drag = (x1, x2) => go({ zoom: `${index(x1)}-${Math.max(index(x1) + 1, index(x2))}` });
  return figure({ label: "Memory of tiles", height: 306, paint, at, drag, undrag: () => go({ zoom: "" }) });
}

function overviewStrip(of, first, end) {
  const { tiles, limit } = of.machine;
  if (tiles < 200) return "";
  const span = WIDTH - LEFT - 8;
  const paint = (pen) => {
    paintStacks(of, pen, { first: 0, end: tiles, x: LEFT, width: span, base: 34, tall: 32, high: most(peaks(of).needed) || 1, limit });
    pen.frame(LEFT + (first / tiles) * span, 1, ((end - first) / tiles) * span, 33, "mark", 1.5);
  };
  const index = (x) => Math.max(0, Math.min(tiles, Math.round(((x - LEFT) / span) * tiles)));
  const drag = (x1, x2) => go({ zoom: `${index(x1)}-${Math.max(index(x1) + 1, index(x2))}` });
  return figure({ label: "All tiles; drag to look closer", height: 36, paint, drag, undrag: () => go({ zoom: "" }), svg: false });
}
