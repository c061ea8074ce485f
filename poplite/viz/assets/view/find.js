// Find: steps, things in memory and tiles by name or number.

const MOST_HITS = 30;

function hitsOf(of, text) {
  const asked = text.trim().toLowerCase();
  if (!asked) return [];
  const found = [];
  const number = asked.replaceAll(",", "").replace(/^tile\s*/, "");
  if (/^\d+$/.test(number) && Number(number) < of.machine.tiles)
    found.push([`tile ${thousands(Number(number))}`, "tile", { tile: Number(number) }]);
  of.steps.forEach((step, place) => {
    if ((step.name + " " + step.op).toLowerCase().includes(asked))
      found.push([stepTitle(place), `step ${stepNumber(place)}`, { step: place, tab: "steps" }]);
  });
  (of.memory?.held ?? []).forEach((held, place) => {
    if (held.name.toLowerCase().includes(asked)) {
      const tile = worst(arrayOf(held.bytes, of.machine.tiles));
      found.push([held.name, kindOf(held), { held: place, tab: "variables", tile }]);
    }
  });
  return found.slice(0, MOST_HITS);
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
