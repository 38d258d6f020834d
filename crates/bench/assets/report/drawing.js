// What all figures share: their place, their sizes, their axes and how they are put into the page.

const config = {
  background: colour("card"),
  font: getComputedStyle(document.body).fontFamily,
  axis: {
    labelColor: colour("soft"), titleColor: colour("soft"), gridColor: colour("line"), domainColor: colour("line"),
    tickColor: colour("line"), labelFontSize: 12, titleFontSize: 12, titleFontWeight: 400,
  },
  header: { labelColor: colour("soft"), labelFontSize: 12, titleColor: colour("soft") },
  legend: { labelColor: colour("ink"), titleColor: colour("soft"), labelFontSize: 12, symbolSize: 110 },
  title: { color: colour("ink"), fontSize: 12, fontWeight: 400, anchor: "start", frame: "bounds" },
  text: { color: colour("ink"), fontSize: 12 },
  view: { stroke: null },
};

// Narrower than this, names stand above what they name instead of beside it.
const isNarrow = (place) => place.clientWidth < 560;

const element = (tag, properties = {}, children = []) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const known = (values) => [...new Set(values)];

const inPieces = (items, size) =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, nth) => items.slice(nth * size, (nth + 1) * size));

const pen = document.createElement("canvas").getContext("2d");

// The width of the longest of `texts` in pixels.
function widest(texts, size = 12) {
  pen.font = `${size}px ${config.font}`;
  return Math.max(0, ...texts.map((text) => pen.measureText(text).width));
}

// `text` in as many lines as it needs.
function lines(text, width) {
  const made = [];
  for (const word of text.split(" ")) {
    const longer = made.length > 0 ? `${made.at(-1)} ${word}` : word;
    if (made.length > 0 && widest([longer]) <= width) made[made.length - 1] = longer;
    else made.push(word);
  }
  return made;
}

// A legend above a figure of `width`, in as many columns as there is room for.
const legendAbove = (kinds, width) =>
  ({ orient: "top", title: null, labelLimit: 160, columns: Math.max(1, Math.floor(width / (Math.min(160, widest(kinds)) + 34))) });

// 0, 500, 1.5k: prefixes for what is large, since a thousandth of a second is no "m".
const plainAxis = { tickCount: 4, labelExpr: "abs(datum.value) < 1000 ? format(datum.value, '.3~r') : format(datum.value, '.3~s')" };

// Round numbers for a logarithmic axis from `low` to `high`: 1, 2 and 5 times powers of ten, or every so many powers.
function ticks(low, high) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) powers.push(power);
  const steps = powers.length > 4 ? [1] : [1, 2, 5];
  const every = Math.ceil(powers.length / 8);
  return powers.filter((power) => power % every === 0)
    .flatMap((power) => steps.map((step) => Number(`${step}e${power}`)))
    .filter((value) => value >= low && value <= high);
}

// Draws `spec` at the end of `place`, with what saves it; `name` is the saved file's.
async function draw(place, spec, name, description) {
  const canvas = element("div");
  const drawing = element("div", { className: "drawing" }, [canvas]);
  place.append(drawing);
  try {
    const options = { mode: "vega-lite", ast: true, renderer: "svg", actions: false };
    const { view } = await vegaEmbed(canvas, { ...spec, description, config }, options);
    drawing.append(saving(view, name));
  } catch (error) {
    canvas.textContent = "This figure could not be drawn; its numbers are in the tables.";
    console.error(error);
  }
}

function key() {
  const entries = data.versions.map((version) => {
    const swatch = element("i");
    swatch.style.background = versionColour(version);
    return element("li", {}, [swatch, version]);
  });
  return element("ul", { className: "key" }, entries);
}

// A panel of a grid, with an empty place for its figure.
function panel(grid, heading, text) {
  const place = element("div");
  const made = element("div", { className: "panel" }, [
    element("h3", { textContent: heading }), element("p", { textContent: text }), place,
  ]);
  grid.append(made);
  return place;
}
