// Drawing: one painter draws on a canvas and, to be saved, as SVG.

let COLORS = new Map();

// A colour of the style sheet, read once for each theme.
function color(name) {
  if (name.startsWith("#")) return name;
  if (!COLORS.has(name)) {
    COLORS.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  }
  return COLORS.get(name);
}

// The ramp of quantities: what is least is nearest to the page.
function rampColor(share) {
  const ramp = isDark() ? DATA.ramp.slice().reverse() : DATA.ramp;
  return ramp[Math.max(0, Math.min(ramp.length - 1, Math.ceil(share * ramp.length) - 1))];
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
    this.context.beginPath();
    this.context.moveTo(x1, y1);
    this.context.lineTo(x2, y2);
    this.context.stroke();
    this.context.setLineDash([]);
  }
  mark(x, y) {
    this.context.fillStyle = color("mark");
    this.context.beginPath();
    this.context.moveTo(x - 4, y - 6);
    this.context.lineTo(x + 4, y - 6);
    this.context.lineTo(x, y);
    this.context.fill();
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
    this.add("polygon", { points: `${x - 4},${y - 6} ${x + 4},${y - 6} ${x},${y}`, fill: color("mark") });
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
    const root = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const [width, height] = this.size;
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
      root.setAttribute(name, value);
    }
    root.setAttribute("role", "img");
    root.setAttribute("aria-label", label);
    this.rect(0, 0, width, height, "page");
    root.append(this.parts.pop(), ...this.parts);
    return new XMLSerializer().serializeToString(root) + "\n";
  }
}

// A picture with buttons that save it.
//   label    what it shows, for readers who do not see it, and the name of its file
//   paint    (pen, width) draws it; on a canvas the pen has a context as well
//   at       (x, y) says what is there: {text, ...choice}; text is shown, the choice made on a click
//   drag     (x1, x2) is told of a range that was dragged over; `undrag` of a double click
function figure({ label, height, width = WIDTH, paint, at, drag, undrag, svg = true, keys }) {
  const canvas = el("canvas", { role: "img", "aria-label": label, tabindex: at ? 0 : false });
  canvas.dataset.focus = label;
  const pen = new CanvasPen(canvas, width, height);
  paint(pen, width);
  const name = label.replace(/[^A-Za-z0-9]+/g, "-").toLowerCase();
  const png = () => {
    const copy = el("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
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
  const saves = el("span", { class: "saves" }, el("button", { onclick: png, title: "Save the picture" }, "PNG"));
  if (svg) saves.append(el("button", { onclick: asSvg, title: "Save the picture" }, "SVG"));
  if (at || drag) watchPointer(canvas, { at, drag, undrag });
  if (keys) canvas.addEventListener("keydown", keys);
  return el("div", { class: "plot" }, canvas, saves);
}

function saveAs(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
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
