// Variables: all that lies in memory, and where one of them lies.

function variablesTab(of) {
  const { held } = of.memory;
  if (!held.length) return [note("Nothing lies in memory: the graph is empty.")];
  const rows = once(of, "sizes", () =>
    held.map((each, number) => {
      const bytes = arrayOf(each.bytes, of.machine.tiles);
      return {
        each,
        number,
        bytes,
        total: sum(bytes),
        tiles: bytes.reduce((count, size) => count + (size > 0), 0),
        most: most(bytes),
      };
    }),
  );
  const chosen = state.held === null ? null : rows[Math.min(state.held, rows.length - 1)];
  const shown = rows.filter(({ each }) => matches(each.name, each.kind, each.at));
  return [
    tools(
      filterField("keep what has …"),
      soft(`${thousands(shown.length)} of ${amount(rows.length, "thing")} in memory`),
    ),
    ...(chosen ? regionOf(of, chosen) : []),
    kept("variables", [state.q, state.sort, state.held], () =>
      table(
        [
          ...heldColumns(({ each }) => each),
          {
            name: "type and shape",
            text: ({ each }) => soft(each.shape ? `${each.type} [${each.shape.join(", ")}]` : ""),
            wide: true,
          },
          sortable("bytes", ({ total }) => total, bytesText),
          sortable("tiles", ({ tiles }) => tiles),
          sortable("most on a tile", (row) => row.most, bytesText),
          { name: "live", label: true, text: ({ each }) => liveText(of, each), wide: true },
          lineColumn(({ each }) => each.at),
        ],
        shown,
        {
          sorted: "bytes",
          pick: ({ bytes, number }) => {
            go({ held: number, tile: worst(bytes) });
            document.querySelector("#view h3").scrollIntoView({ block: "center" });
          },
          isOn: ({ number }) => number === chosen?.number,
        },
      ),
    ),
  ];
}

function liveText(of, held) {
  if (held.steps === null) return soft("always");
  const count = held.steps.reduce((total, [first, last]) => total + last - first + 1, 0);
  return soft(
    count === 1 ? `in ${memoryStepName(of, held.steps[0][0])}` : `in ${thousands(count)} steps`,
  );
}

function regionOf(of, { each, bytes, tiles }) {
  const high = most(bytes);
  const hasPieces = each.pieces && each.shape.every((size) => size > 0);
  const picture = hasPieces
    ? variablePicture(each)
    : [tileMap(of, bytes, (number) => number / high, Infinity, each.name, bytesText)];
  const is = each.kind === "variable" || each.kind === "constant";
  const how = is
    ? soft(" — a view of it: ", el("code", {}, `poplite-viz regions TARGET '${each.name}' --op …`))
    : "";
  return [heading(`Where ${each.name} lies: on ${amount(tiles, "tile")}`, how), ...picture];
}
