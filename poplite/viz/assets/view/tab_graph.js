// Graph: the dataflow graph as poplite-viz draws it, to be moved and enlarged.

const SIZES = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4];
let graphSize = null;
let graphPlace = [0, 0];

function graphTab() {
  if (!DATA.graph) {
    return [
      note(
        "This report was saved without the dataflow graph; reports of today hold it: " +
          "poplite-viz report file.py:callable -o report.html",
      ),
    ];
  }
  const shadow = el("div", { class: "graphRoot" });
  const root = shadow.attachShadow({ mode: "open" });
  // The picture follows the system's theme; here it is to follow the page's.
  const media = isDark() ? "@media all" : "@media not all";
  root.innerHTML = textOf(DATA.graph).replace(/@media \(prefers-color-scheme: ?dark\)/g, media);
  const svg = root.querySelector("svg");
  const [width, height] = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
  const box = el("div", { class: "graph", tabindex: 0 }, shadow);
  const resize = () => {
    svg.setAttribute("width", width * SIZES[graphSize]);
    svg.setAttribute("height", height * SIZES[graphSize]);
    svg.style.maxWidth = "none";
  };
  const largest = (most) => SIZES.findLastIndex((each) => each <= most);
  graphSize ??= Math.max(2, largest(Math.min(1, WIDTH / width)));
  const by = (change) => () => {
    graphSize = clip(graphSize + change, 0, SIZES.length - 1);
    resize();
  };
  const fit = () => {
    graphSize = Math.max(0, largest(WIDTH / width));
    resize();
  };
  const save = () => saveAs(new Blob([textOf(DATA.graph)], { type: "image/svg+xml" }), "graph.svg");
  moveByPointer(box);
  resize();
  box.addEventListener("scroll", () => {
    if (box.isConnected) graphPlace = [box.scrollLeft, box.scrollTop];
  });
  // The page is drawn anew with each choice; this box can scroll when it stands there.
  queueMicrotask(() => box.scrollTo(...graphPlace));
  return [
    tools(
      button("+", by(1), { title: "Larger" }),
      button("−", by(-1), { title: "Smaller" }),
      button("fit", fit),
      button("save SVG", save),
      soft("Drag to move. Scopes are folded; poplite-viz graph --scope and --around look closer."),
    ),
    box,
  ];
}

function moveByPointer(box) {
  let from = null;
  box.addEventListener("pointerdown", (event) => {
    from = [event.clientX + box.scrollLeft, event.clientY + box.scrollTop];
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    if (from) box.scrollTo(from[0] - event.clientX, from[1] - event.clientY);
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => (from = null));
}
