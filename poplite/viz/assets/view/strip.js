// A strip of the addresses of one tile: what lies where, and what is free.

function addressStrip(of, tile) {
  if (!of.memory.addressed) {
    return note(
      of.rough
        ? "Addresses are left out, as the page would be too large."
        : "Addresses are not in this report: it was saved by an older poplite.",
    );
  }
  const rows = heldOn(of, tile).filter(({ live }) => live !== "not at the peak");
  const placed = rows.map((row) => ({
    ...row,
    begin: arrayOf(row.held.address, of.machine.tiles)[tile],
  }));
  const last = placed.reduce((far, { begin, bytes }) => Math.max(far, begin + bytes), 1);
  const span = WIDTH - 16;
  const paint = (pen, width) => {
    pen.rect(8, 8, span, 30, "memory-" + GAPS);
    for (const { begin, bytes, held, number } of placed) {
      const [x, wide] = [8 + (begin / last) * span, Math.max(1, (bytes / last) * span)];
      pen.rect(x, 8, wide > 3 ? wide - 1 : wide, 30, "memory-" + groupOf(held.kind));
      if (wide > 40)
        pen.text(
          shortened(held.name, Math.floor(wide / 7)),
          x + 4,
          27,
          "left",
          "on-memory-" + groupOf(held.kind),
        );
      if (number === state.held) pen.frame(x, 7, wide, 32, "mark", 2);
    }
    const { limit } = of.machine;
    if (last > limit) {
      const x = 8 + (limit / last) * span;
      pen.rect(x, 22, 8 + span - x, 16, "over");
      pen.line(x, 2, x, 42, "mark", [5, 4]);
      pen.text("!", x + 4, 35, "left", "on-over", 12);
    }
    for (const each of ticks(0, last, Math.min(6, width / 110)))
      axisText(pen, bytesText(each), 8 + (each / last) * span, 52, 8, width);
  };
  const at = (x) => {
    const address = ((x - 8) / span) * last;
    const found = placed.find(
      ({ begin, bytes }) =>
        begin <= address && address < begin + Math.max(bytes, (2 * last) / span),
    );
    if (!found) return { text: "free" };
    const { held, begin, bytes, live } = found;
    return {
      held: found.number,
      text:
        `${held.name}\n${bytesText(bytes)} from address ${thousands(begin)}\n` +
        `${kindOf(held)}, live ${live}`,
    };
  };
  const free = last - placed.reduce((total, { bytes }) => total + bytes, 0);
  const words =
    free > 0
      ? `Addresses at its peak, ${bytesText(free)} between things are free`
      : "Addresses at its peak";
  return el(
    "div",
    {},
    remark(words),
    figure({ label: `Addresses of tile ${tile}`, height: 58, paint, at }),
  );
}
