// The pointer on a picture: what is there is told, a click chooses it, dragging chooses a range.

// The picture that was clicked last.  A click draws all anew, and with the canvas the browser's own
// double click is lost; but it counts the clicks, by what its user takes for a double one and
// however long the drawing takes.  A double click takes back what its first click chose.
let lastClicked = "";
let beforeClick = {};

function watchPointer(canvas, { at, drag, undrag, pan }) {
  const tip = document.getElementById("tip");
  const band = el("span", { class: "band", hidden: true });
  let [start, top] = [null, 0];
  let [wasDragged, isPanned] = [false, false];
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  queueMicrotask(() => canvas.after(band));
  canvas.addEventListener("pointerdown", (event) => {
    [start, top] = place(event);
    wasDragged = false;
    isPanned = pan && event.shiftKey;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (start !== null && isPanned) canvas.style.cursor = "grabbing";
    else if (start !== null && drag && Math.abs(x - start) > 4) {
      band.hidden = false;
      band.style.left = Math.min(start, x) + "px";
      band.style.width = Math.abs(x - start) + "px";
      tip.hidden = true;
      return;
    }
    const found = at?.(x, y);
    tip.hidden = !found?.text;
    if (found?.text) showTip(tip, found.text, event);
  });
  canvas.addEventListener("pointerup", (event) => {
    const [x, y] = place(event);
    const from = start;
    start = null;
    band.hidden = true;
    tip.hidden = true;
    wasDragged = from !== null && drag && (isPanned || Math.abs(x - from) > 4);
    if (wasDragged && isPanned) pan(x - from, y - top);
    else if (wasDragged) drag(Math.min(from, x), Math.max(from, x));
  });
  canvas.addEventListener("click", (event) => {
    if (wasDragged) return;
    const label = canvas.getAttribute("aria-label");
    const isSecond = event.detail > 1 && label === lastClicked;
    lastClicked = label;
    if (isSecond && undrag) {
      Object.assign(state, beforeClick);
      return undrag();
    }
    beforeClick = { tile: state.tile, step: state.step, held: state.held };
    const { text, ...choice } = at?.(...place(event)) ?? {};
    if (Object.keys(choice).length) go(choice);
  });
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("pointercancel", () => ([start, band.hidden] = [null, true]));
}

function showTip(tip, text, event) {
  const [first, ...others] = text.split("\n");
  tip.replaceChildren(bold(first), ...others.flatMap((line) => [el("br"), line]));
  const box = tip.getBoundingClientRect();
  tip.style.left = clip(event.clientX + 14, 4, innerWidth - box.width - 8) + "px";
  tip.style.top = clip(event.clientY + 16, 4, innerHeight - box.height - 8) + "px";
}
