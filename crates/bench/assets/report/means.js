// The means of each experiment: as bars, and over the delay.

const of = (rows, experiment) => rows.filter((row) => row.experiment === experiment);

function panels(place, drawPanel) {
  place.classList.add("grid");
  place.replaceChildren(key());
  return data.experiments.map(({ name, question }) => {
    const own = of(data.means, name);
    return drawPanel(panel(place, `${name}, ${own[0]?.unit ?? ""}`, question), own, name);
  });
}

function meansPanel(place, rows, name) {
  const delays = data.delays.filter((delay) => rows.some((row) => row.delay === delay));
  const spacing = 18;
  const width = Math.max(34, (place.clientWidth - 8) / delays.length - spacing);
  // Numbers that have no room beside each other stand upright.
  const isTight = widest(rows.map((row) => row.shown)) > width / data.versions.length - 2;
  const placing = isTight ? { angle: -90, align: "left", baseline: "middle", dx: 8 } : { baseline: "bottom", dy: -9 };
  const x = { field: "version", type: "nominal", sort: data.versions, axis: null, scale: { paddingInner: 0.18, paddingOuter: 0.12 } };
  const tooltip = [
    { field: "version", title: "version" }, { field: "delay", title: "delay" },
    { field: "mean", title: "mean", format: ",.4~r" }, { field: "low", title: "95 % from", format: ",.4~r" },
    { field: "high", title: "to", format: ",.4~r" }, { field: "unit", title: "unit" },
  ];
  return draw(place, {
    data: { values: rows },
    facet: { column: { field: "delay", type: "nominal", sort: data.delays, title: null, header: { labelOrient: "bottom", labelPadding: 6 } } },
    spacing,
    spec: {
      width, height: 130,
      layer: [
        { mark: { type: "bar", cornerRadiusEnd: 2 }, encoding: {
          x, y: { field: "mean", type: "quantitative", axis: null, scale: { zero: true } },
          color: { field: "version", type: "nominal", scale: versionScale, legend: null }, tooltip } },
        { mark: { type: "errorbar", ticks: { color: colour("ink"), width: 9 }, rule: { color: colour("ink") } }, encoding: {
          x, y: { field: "low", type: "quantitative", axis: null, title: null }, y2: { field: "high" }, tooltip } },
        { mark: { type: "text", ...placing }, encoding: {
          x, y: { field: "high", type: "quantitative", axis: null }, text: { field: "shown" } } },
      ],
    },
    resolve: { scale: { y: "independent" } },
  }, `${name} means`, `${name}: means of each version at each delay, as bars with 95 % intervals`);
}

function sweepPanel(place, rows, name) {
  const positive = rows.filter((row) => row.mean > 0).map((row) => ({ ...row, low: row.low > 0 ? row.low : row.mean }));
  if (positive.length === 0) {
    place.replaceChildren("Nothing above zero was measured.");
    return Promise.resolve();
  }
  const x = { field: "delay", type: "ordinal", sort: data.delays, title: "round-trip delay", axis: { labelAngle: 0 }, scale: { type: "point", padding: 0.3 } };
  const domain = [Math.min(...positive.map((row) => row.low)) / 1.25, Math.max(...positive.map((row) => row.high)) * 1.25];
  const y = { type: "quantitative", scale: { type: "log", domain, nice: false }, title: rows[0]?.unit,
    axis: { format: "~s", values: ticks(...domain) } };
  const dashes = [[1, 0], [7, 4], [2, 3], [9, 3, 2, 3]];
  const strokeDash = { field: "version", type: "nominal", sort: data.versions, legend: null,
    scale: { domain: allVersions, range: allVersions.map((_, nth) => dashes[nth % dashes.length]) } };
  const color = { field: "version", type: "nominal", scale: versionScale, legend: null };
  return draw(place, {
    data: { values: positive },
    width: Math.max(180, place.clientWidth - 74), height: 170,
    layer: [
      { mark: { type: "area", opacity: 0.22 }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color } },
      { mark: { type: "line", strokeWidth: 2.5 }, encoding: { x, y: { ...y, field: "mean" }, color, strokeDash } },
      { mark: { type: "point", filled: true, size: 60, opacity: 1 }, encoding: {
        x, y: { ...y, field: "mean" }, color, shape: { field: "version", type: "nominal", legend: null },
        tooltip: [{ field: "version" }, { field: "delay" }, { field: "shown", title: "mean" }, { field: "unit" }] } },
    ],
  }, `${name} over delay`, `${name}: means over the delay, one line for each version`);
}
