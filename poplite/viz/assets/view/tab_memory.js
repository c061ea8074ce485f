// Memory: a bar for each tile at its own fullest step, and what lies on the chosen tile.

function memoryTab(of) {
  const tile = chosenTile();
  const { needed, step, always, beside } = peaks(of);
  const { limit, tiles } = of.machine;
  const over = needed.filter((bytes) => bytes > limit).length;
  const [first, end] = rangeOf(state.zoom, tiles);
  const rows = heldOn(of, tile);
  const facts = el(
    "span",
    { class: over ? "overText" : "soft" },
    over
      ? `! ${amount(over, "tile")} over the limit of ${bytesText(limit)}`
      : `limit ${bytesText(limit)} · most ${bytesText(most(needed))}`,
  );
  const kinds = memoryParts(of, sum);
  return [
    tools(
      choice("tiles", "rows", { number: "by number", most: "fullest first" }),
      choice("height", "height", { fullest: "fullest tile", limit: "limit" }),
      facts,
      state.zoom ? button("all tiles", () => go({ zoom: "" })) : "",
    ),
    legend(kinds),
    memoryBars(of, first, end),
    overviewStrip(of, first, end),
    heading(
      `On tile ${thousands(tile)}: ${bytesText(needed[tile])} with gaps; ` +
        `${bytesText(always[tile])} always live` +
        (step[tile] < 0
          ? ""
          : `, ${bytesText(beside[tile])} beside it in ${memoryStepName(of, step[tile])}`),
    ),
    addressStrip(of, tile),
    table(
      [
        ...heldColumns(({ held }) => held),
        sortable("bytes", ({ bytes }) => bytes, bytesText),
        { name: "live", text: ({ live }) => live, wide: true },
        lineColumn(({ held }) => held.at),
      ],
      rows,
      {
        isPale: ({ live }) => live === "not at the peak",
        isOn: ({ number }) => number === state.held,
        pick: ({ number }) => go({ held: number }),
      },
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
  for (const { left, wide, from, to } of columnsOf(first, end, width)) {
    let tile = order[from];
    for (let each = from + 1; each < to; each++)
      if (needed[order[each]] > needed[tile]) tile = order[each];
    let y = base;
    stacks(of).forEach((group, number) => {
      const size = (group[tile] / high) * tall;
      if (size <= 0) return;
      y -= size;
      pen.rect(x + left, y, barOf(wide), size + 0.3, "memory-" + number);
    });
    if (needed[tile] > limit && high >= limit) {
      const top = base - (limit / high) * tall;
      pen.rect(x + left, y, barOf(wide), top - y, "over");
      if (wide > 6)
        pen.text("!", x + left + wide / 2 + (wide > 30 ? 12 : 0), y + 13, "center", "on-over", 12);
    }
  }
}

function memoryBars(of, first, end) {
  const { needed } = peaks(of);
  const { limit } = of.machine;
  const order = tileOrder(of);
  const high = state.height === "limit" ? Math.max(limit, most(needed)) : most(needed);
  const [top, base] = [20, 280];
  const axis = tileAxis(first, end);
  const paint = (pen, width) => {
    bytesAxis(pen, high, base, top, width);
    paintStacks(of, pen, {
      first,
      end,
      x: LEFT,
      width: axis.span,
      base,
      tall: base - top,
      high: high || 1,
      limit,
    });
    limitLine(pen, limit, high, base, top, width);
    const label = state.rows === "most" ? "fullest first" : "tile";
    axis.labels(pen, base + 16, LEFT - 2, width);
    pen.text(label, LEFT - 6, base + 16, "right");
    const place = order.indexOf(chosenTile());
    if (place >= first && place < end) {
      const x = axis.xOf(place);
      pen.line(x, top - 6, x, base - (needed[chosenTile()] / (high || 1)) * (base - top), "mark");
      pen.mark(x, top - 4);
    }
  };
  const at = (x, y) => {
    if (y > base + 4 || x < LEFT) return null;
    const tile = order[axis.at(x)];
    return {
      tile,
      text:
        `tile ${thousands(tile)}\n${bytesText(needed[tile])}, ` +
        `${shareOf(needed[tile], limit)} of the limit`,
    };
  };
  return figure({ label: "Memory of tiles", height: 306, paint, at, ...axis.zoom });
}

function overviewStrip(of, first, end) {
  const { tiles, limit } = of.machine;
  if (tiles < 200) return "";
  const { span, zoom } = tileAxis(0, tiles);
  const paint = (pen) => {
    paintStacks(of, pen, {
      first: 0,
      end: tiles,
      x: LEFT,
      width: span,
      base: 34,
      tall: 32,
      high: most(peaks(of).needed) || 1,
      limit,
    });
    for (const y of [0, 34])
      pen.rect(LEFT + (first / tiles) * span, y, ((end - first) / tiles) * span, 2, "mark");
  };
  return figure({
    label: "All tiles; drag to look closer",
    height: 36,
    paint,
    ...zoom,
    svg: false,
  });
}
