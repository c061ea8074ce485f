// Drawing: one painter draws on a canvas and, to be saved, as SVG.

let COLORS = new Map();

// A colour of the style sheet, read once for each theme.
function color(name) {
  if (name.startsWith("#")) return name;
  if (!COLORS.has(name)) {
    COLORS.set(
      name,
      getComputedStyle(document.documentElement)
        .getPropertyValue("--" + name)
        .trim(),
    );
  }
  return COLORS.get(name);
}

// The ramp of quantities: what is least is nearest to the page.
function rampColor(share) {
  const ramp = isDark() ? DATA.ramp.slice().reverse() : DATA.ramp;
  return ramp[clip(Math.ceil(share * ramp.length) - 1, 0, ramp.length - 1)];
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

class CanvasPen {
  constructor(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    canvas.style.width = width + "px";
    this.context = canvas.getContext("2d");
    this.context.scale(ratio, ratio);
  }
  rect(x, y, width, height, fill) {
    this.context.fillStyle = color(fill);
    this.context.fillRect(x, y, width, height);
  }
  frame(x, y, width, height, stroke, thickness = 1.5) {
    this.context.strokeStyle = color(stroke);
    this.context.lineWidth = thickness;
    this.context.strokeRect(x, y, width, height);
  }
  line(x1, y1, x2, y2, stroke, dash = []) {
    this.context.strokeStyle = color(stroke);
    this.context.lineWidth = 1;
    this.context.setLineDash(dash);
    this.context.stroke(new Path2D(`M${x1} ${y1}L${x2} ${y2}`));
    this.context.setLineDash([]);
  }
  mark(x, y) {
    this.context.fillStyle = color("mark");
    this.context.fill(new Path2D(`M${x - 4} ${y - 6}h8L${x} ${y}z`));
  }
  text(text, x, y, align = "left", fill = "soft", size = 11) {
    this.context.font = `${size}px ${FONT}`;
    this.context.textAlign = align;
    this.context.fillStyle = color(fill);
    this.context.fillText(text, x, y);
  }
  width(text, size = 11) {
    this.context.font = `${size}px ${FONT}`;
    return this.context.measureText(text).width;
  }
}

class SvgPen {
  constructor(width, height, measure) {
    this.size = [width, height];
    this.measure = measure;
    this.parts = [];
  }
  add(tag, attributes, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
      made.setAttribute(name, typeof value === "number" ? Math.round(value * 100) / 100 : value);
    }
    made.textContent = text;
    this.parts.push(made);
  }
  rect(x, y, width, height, fill) {
    this.add("rect", { x, y, width, height, fill: color(fill) });
  }
  frame(x, y, width, height, stroke, thickness = 1.5) {
    const line = { fill: "none", stroke: color(stroke), "stroke-width": thickness };
    this.add("rect", { x, y, width, height, ...line });
  }
  line(x1, y1, x2, y2, stroke, dash = []) {
    this.add("line", { x1, y1, x2, y2, stroke: color(stroke), "stroke-dasharray": dash.join(" ") });
  }
  mark(x, y) {
    this.add("polygon", {
      points: `${x - 4},${y - 6} ${x + 4},${y - 6} ${x},${y}`,
      fill: color("mark"),
    });
  }
  text(text, x, y, align = "left", fill = "soft", size = 11) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const font = { "font-size": size, "font-family": FONT, "text-anchor": anchor };
    this.add("text", { x, y, fill: color(fill), ...font }, text);
  }
  width(text, size = 11) {
    return this.measure(text, size);
  }
  source(label) {
    const [width, height] = this.size;
    this.rect(0, 0, width, height, "page");
    this.parts.unshift(this.parts.pop());
    const parts = this.parts.slice();
    this.add("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": label,
    });
    const root = this.parts.pop();
    root.append(...parts);
    return new XMLSerializer().serializeToString(root) + "\n";
  }
}

// A picture with buttons that save it.
//   label    what it shows, for readers who do not see it, and the name of its file
//   paint    (pen, width) draws it; on a canvas the pen has a context as well
//   at       (x, y) says what is there: {text, ...choice}; text is shown, a click makes the choice
//   drag     (x1, x2) is told of a range that was dragged over; `undrag` of a double click
//   pan      (x, y) is told of how far it was dragged with Shift; wheel, keys: of these events
function figure({ label, height, width = WIDTH, paint, svg = true, wheel, keys, ...pointer }) {
  const { at, drag } = pointer;
  const canvas = el("canvas", { role: "img", "aria-label": label, tabindex: at ? 0 : false });
  canvas.dataset.focus = label;
  const pen = new CanvasPen(canvas, width, height);
  paint(pen, width);
  const name = label.replace(/[^A-Za-z0-9]+/g, "-").toLowerCase();
  const png = () => {
    const copy = el("canvas", { width: canvas.width, height: canvas.height });
    const context = copy.getContext("2d");
    context.fillStyle = color("page");
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(canvas, 0, 0);
    copy.toBlob((blob) => saveAs(blob, name + ".png"));
  };
  const asSvg = () => {
    const other = new SvgPen(width, height, (text, size) => pen.width(text, size));
    paint(other, width);
    saveAs(new Blob([other.source(label)], { type: "image/svg+xml" }), name + ".svg");
  };
  const forms = [["PNG", png], ...(svg ? [["SVG", asSvg]] : [])];
  const saves = el(
    "span",
    { class: "saves" },
    ...forms.map(([form, save]) => button(form, save, { title: "Save the picture" })),
  );
  if (at || drag) watchPointer(canvas, pointer);
  if (wheel) canvas.addEventListener("wheel", wheel);
  if (keys) canvas.addEventListener("keydown", keys);
  return el("div", { class: "plot" }, canvas, saves);
}

function saveAs(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const LEFT = 74;

// How wide a bar is drawn: a gap stands between bars that are wide.
const barOf = (wide) => Math.max(wide - (wide > 4 ? 1 : 0), 0.7);

// Columns of bars for items `first` to `end`; several items, `from` to `to`, where they are
// narrower than a pixel: the most of them is drawn.
function columnsOf(first, end, width) {
  const count = Math.min(Math.floor(width), end - first);
  const start = (column) => first + Math.floor((column * (end - first)) / count);
  return Array.from({ length: count }, (_, column) => ({
    left: (column * width) / count,
    wide: width / count,
    from: start(column),
    to: Math.max(start(column) + 1, start(column + 1)),
  }));
}

// Tiles `first` to `end` across: where the middle of one stands, which one is at a place, numbers
// below, and looking closer by dragging.
function tileAxis(first, end) {
  const span = WIDTH - LEFT - 8;
  const xOf = (place) => LEFT + ((place - first + 0.5) / (end - first)) * span;
  const border = (x) => clip(first + ((x - LEFT) / span) * (end - first), first, end);
  const labels = (pen, y, low, high) => {
    for (const each of ticks(first, end - 1, Math.min(8, span / 70)))
      axisText(pen, thousands(each), xOf(each), y, low, high);
  };
  const drag = (x1, x2) => {
    const from = Math.min(Math.round(border(x1)), end - 1);
    go({ zoom: `${from}-${Math.max(from + 1, Math.round(border(x2)))}` });
  };
  const at = (x) => Math.min(end - 1, Math.floor(border(x)));
  return { span, xOf, at, labels, zoom: { drag, undrag: () => go({ zoom: "" }) } };
}

// Lines and labels of bytes, from 0 at `base` to `high` at `top`.
function bytesAxis(pen, high, base, top, width, left = LEFT) {
  for (const each of ticks(0, high, 4)) {
    const y = base - (each / (high || 1)) * (base - top);
    pen.line(left, y, width - 8, y, "line");
    pen.text(bytesText(each), left - 6, y + 4, "right");
  }
}

// The limit of memory as a line; nothing where it is higher than what is drawn.
function limitLine(pen, limit, high, base, top, width, left = LEFT) {
  if (high < limit) return;
  const y = base - (limit / high) * (base - top);
  pen.line(left, y, width - 8, y, "mark", [5, 4]);
  pen.text("limit", width - 12, y - 4, "right", "mark");
}

// A label of an axis below `x`, moved so that all of it stands between two borders.
function axisText(pen, text, x, y, low, high) {
  const half = pen.width(text) / 2;
  pen.text(text, Math.max(low + half, Math.min(high - half, x)), y, "center");
}

// Round numbers from 0 to at most `high`: some `count` of them, whole if `whole`.
function ticks(low, high, count, whole = true) {
  if (high <= low) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].find((each) => each * power >= raw) * power;
  if (whole) step = Math.max(1, Math.round(step));
  const found = [];
  for (let each = Math.ceil(low / step) * step; each <= high; each += step) found.push(each);
  return found;
}
