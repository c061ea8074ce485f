// Find: steps, things in memory, operations, lines of source and tiles by name or number.

const MOST_HITS = 12;

function hitsOf(of, text) {
  const asked = text.trim().toLowerCase();
  if (!asked) return [];
  const found = [];
  const number = asked.replaceAll(",", "").replace(/^tile\s*/, "");
  if (/^\d+$/.test(number) && Number(number) < of.machine.tiles)
    found.push([`tile ${thousands(Number(number))}`, "tile", { tile: Number(number) }]);
  const has = (text) => text.toLowerCase().includes(asked);
  // The first of each kind of things [place, words that are looked in], as they are found.
  const add = (things, made) =>
    found.push(
      ...things
        .filter(([, words]) => has(words))
        .slice(0, MOST_HITS)
        .map(made),
    );
  const held = of.memory?.held ?? [];
  add(
    of.steps.map((step, place) => [place, step.name + " " + step.op]),
    ([place]) => [stepTitle(place), `step ${stepNumber(place)}`, { step: place, tab: "steps" }],
  );
  add(
    held.map((each, place) => [place, each.name]),
    ([place]) => {
      const tile = worst(arrayOf(held[place].bytes, of.machine.tiles));
      return [held[place].name, kindOf(held[place]), { held: place, tab: "variables", tile }];
    },
  );
  add(
    of.operations.map(([name]) => [name, name]),
    ([q]) => [q, "operation", { tab: "steps", q }],
  );
  const lines = new Map([
    ...held.map(({ at }) => [at, "variables"]),
    ...of.steps.map(({ at }) => [at, "steps"]),
  ]);
  add(
    [...lines.keys()].filter(Boolean).map((at) => [at, at]),
    ([q]) => [placeOf(q), `line of ${lines.get(q)}`, { tab: lines.get(q), q }],
  );
  return found;
}

function setUpFinder() {
  const field = document.getElementById("find");
  const box = document.getElementById("hits");
  let [hits, on] = [[], 0];
  const choose = (hit) => {
    field.value = "";
    box.hidden = true;
    field.blur();
    go(hit[2]);
  };
  const show = () => {
    box.hidden = !field.value.trim();
    const rows = hits.map((hit, place) =>
      el(
        "div",
        { role: "option", "aria-selected": String(place === on), onmousedown: () => choose(hit) },
        el("span", {}, hit[0]),
        soft(hit[1]),
      ),
    );
    box.replaceChildren(...(rows.length ? rows : [el("div", {}, soft("nothing has such a name"))]));
    rows[on]?.scrollIntoView({ block: "nearest" });
  };
  field.addEventListener("input", () => {
    [hits, on] = [hitsOf(report(), field.value), 0];
    show();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && hits[on]) choose(hits[on]);
    else if (event.key === "Escape") {
      field.value = "";
      box.hidden = true;
      field.blur();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      on = clip(on + (event.key === "ArrowDown" ? 1 : -1), 0, hits.length - 1);
      show();
    }
  });
  field.addEventListener("blur", () => (box.hidden = true));
}
