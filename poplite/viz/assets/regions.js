// One frame at a time: an element keeps its identity, and moves from where it was.
(() => {
  const DURATION = 400;
  const PAUSE = 1200;
  const picture = document.querySelector("figure svg");
  const frames = [...picture.querySelectorAll("g.frame")];
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  if (frames.length < 2) return;

  // All frames are equally high; they take the place of the first one, and what lies below follows.
  const first = (frame) => frame.querySelector("text").y.baseVal[0].value;
  const height = first(frames[1]) - first(frames[0]);
  const { width, height: total } = picture.viewBox.baseVal;
  const left = total - height * (frames.length - 1);
  frames.forEach((frame, k) => frame.setAttribute("transform", `translate(0 ${-k * height})`));
  const below = document.createElementNS(picture.namespaceURI, "g");
  const last = frames[frames.length - 1];
  while (last.nextSibling) below.append(last.nextSibling);
  below.setAttribute("transform", `translate(0 ${left - total})`);
  picture.append(below);
  picture.setAttribute("viewBox", `0 0 ${width} ${left}`);
  picture.setAttribute("height", left);
  picture.querySelector("rect.page").setAttribute("height", left);

  const bar = document.createElement("div");
  bar.id = "frames";
  const button = (label, title, action) => {
    const made = document.createElement("button");
    made.textContent = label;
    made.title = title;
    made.setAttribute("aria-label", title);
    made.addEventListener("click", action);
    bar.append(made);
    return made;
  };
  let current = 0;
  let timer = null;
  button("\u2039", "frame before", () => go(current - 1));
  button("\u203a", "next frame", () => go(current + 1));
  const play = button("play", "play", () => (timer ? stop() : start()));
  const place = document.createElement("output");
  bar.append(place);
  picture.closest("figure").before(bar);

  function position(element, frame) {
    const box = element.querySelector("rect");
    return [box.x.baseVal.value, box.y.baseVal.value - frames.indexOf(frame) * height];
  }

  function elements(frame) {
    const found = new Map();
    for (const each of frame.querySelectorAll(".element")) {
      const key = each.dataset.key;
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(each);
    }
    return found;
  }

  // Each element of a frame comes from one with its key, of several from the nearest in order.
  function move(from, to) {
    const before = elements(from);
    for (const [key, all] of elements(to)) {
      const sources = before.get(key);
      all.forEach((element, k) => {
        if (!sources) {
          element.animate([{ opacity: 0 }, { opacity: 1 }], DURATION);
          return;
        }
        const [x0, y0] = position(sources[Math.min(k, sources.length - 1)], from);
        const [x1, y1] = position(element, to);
        element.animate(
          [{ transform: `translate(${x0 - x1}px, ${y0 - y1}px)` }, { transform: "none" }],
          { duration: DURATION, easing: "ease-in-out" },
        );
      });
    }
    for (const ribbons of to.querySelectorAll(".ribbons")) {
      ribbons.animate([{ opacity: 0 }, { opacity: 0, offset: 0.6 }, { opacity: 1 }], DURATION);
    }
  }

  function go(wanted) {
    const number = Math.max(0, Math.min(frames.length - 1, wanted));
    const from = frames[current];
    frames.forEach((frame, k) => frame.toggleAttribute("hidden", k !== number));
    if (number !== current && !still.matches) move(from, frames[number]);
    current = number;
    place.textContent = `${number + 1} of ${frames.length}`;
    if (number === frames.length - 1) stop();
  }

  function start() {
    if (current === frames.length - 1) go(0);
    play.textContent = "stop";
    timer = setInterval(() => go(current + 1), PAUSE);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "play";
  }

  go(0);
})();
