// Every comparison's ratio with its interval.

// Two pieces fit on a printed page.
const rowsOfRatios = 24;

function ratioFigure(place) {
  if (data.ratios.length === 0) {
    place.replaceChildren("Nothing was compared.");
    return [];
  }
  const canvas = element("div");
  place.replaceChildren(canvas);
  const pieces = inPieces(data.ratios, rowsOfRatios);
  return pieces.map((rows, nth) => draw(canvas, ratioSpec(canvas, rows), pieces.length > 1 ? `ratios ${nth + 1}` : "ratios",
    "Ratio of each comparison with the interval that its verdict follows from"));
}

function ratioSpec(place, rows) {
  const narrow = isNarrow(place);
  const ends = data.ratios.flatMap((row) => [row.low, row.high]);
  const domain = [Math.min(0.9, ...ends) / 1.1, Math.max(1.1, ...ends) * 1.1];
  const x = { type: "quantitative", scale: { type: "log", domain, nice: false }, title: "ratio (logarithmic)",
    axis: { format: ",~r", values: ticks(...domain), labelOverlap: true } };
  // The same in every piece, so that the lines at 1 stand below each other.
  const named = Math.min(320, widest(data.ratios.map((row) => row.row)));
  const names = { labelLimit: 320, minExtent: named, ticks: false, domain: false, grid: true, gridOpacity: 0.5, labelColor: colour("ink") };
  const y = { field: "row", type: "nominal", sort: null, title: null, axis: narrow ? null : names };
  const color = { field: "verdict", type: "nominal", scale: { domain: verdicts, range: verdictColours }, legend: null };
  const shape = { field: "verdict", type: "nominal", legend: null,
    scale: { domain: verdicts, range: ["triangle-up", "triangle-down", "circle", "diamond"] } };
  const legend = { ...legendAbove(verdicts, place.clientWidth), offset: 14 };
  const beside = named + widest(data.ratios.map((row) => row.shown)) + 44;
  const width = Math.max(200, place.clientWidth - (narrow ? 12 : beside));
  const whole = { x: { value: "width" }, y, color: { value: colour("soft") } };
  const said = narrow
    ? [
      { mark: { type: "text", align: "left", dy: -13, limit: width - 56 }, encoding: { x: { value: 0 }, y, text: { field: "row" } } },
      { transform: [{ calculate: "split(datum.shown, ' ')[0]", as: "short" }],
        mark: { type: "text", align: "right", dy: -13 }, encoding: { ...whole, text: { field: "short" } } },
    ]
    : [{ mark: { type: "text", align: "left", dx: 12 }, encoding: { ...whole, text: { field: "shown" } } }];
  return {
    data: { values: rows },
    width, height: { step: narrow ? 40 : 22 },
    layer: [
      { data: { values: [{ from: 1 / (1 + data.same_within), to: 1 + data.same_within }] }, mark: { type: "rect", color: colour("band") },
        encoding: { x: { ...x, field: "from" }, x2: { field: "to" } } },
      { data: { values: [{ one: 1 }] }, mark: { type: "rule", color: colour("ink") }, encoding: { x: { ...x, field: "one" } } },
      { mark: { type: "rule", strokeWidth: 2.5 }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" }, y, color: { ...color, legend } } },
      { mark: { type: "point", filled: true, size: 75, opacity: 1 }, encoding: { x: { ...x, field: "ratio" }, y,
        color: { ...color, legend }, shape: { ...shape, legend },
        tooltip: [{ field: "row", title: "comparison" }, { field: "shown", title: "ratio" }, { field: "verdict" }, { field: "reason" }] } },
      ...said,
    ],
  };
}
