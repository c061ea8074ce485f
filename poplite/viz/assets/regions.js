// One frame at a time: an element keeps its identity, and moves from where it was.
(() => {
  const DURATION = 400;
  const PAUSE = 1200;
  const picture = document.querySelector("figure svg");
  const frames = [...picture.querySelectorAll("g.frame")];
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  if (frames.length < 2) return;

  const heading = frames[0].transform.baseVal[0].matrix.f;
  const next = frames[1].transform.baseVal[0].matrix.f;
  const total = picture.viewBox.baseVal.height;
  const last = frames[frames.length - 1].transform.baseVal[0].matrix.f;
  const ends = last + next - heading;
  const height = total - ends + next;
  const width = picture.viewBox.baseVal.width;

  // Frames take the place of the first one, and what lies below them moves up.
  for (const frame of frames) frame.setAttribute("transform", `translate(0 ${heading})`);
  const below = document.createElementNS(picture.namespaceURI, "g");
  for (let node = frames[frames.length - 1].nextSibling; node; node = frames[frames.length - 1].nextSibling) {
    below.append(node);
  }
  below.setAttribute("transform", `translate(0 ${next - ends})`);
  picture.append(below);
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("height", height);
  picture.querySelector("rect.page").setAttribute("height", height);

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

  function position(element) {
    const box = element.querySelector("rect");
    return [box.x.baseVal.value, box.y.baseVal.value];
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
        const [x0, y0] = position(sources[Math.min(k, sources.length - 1)]);
        const [x1, y1] = position(element);
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
