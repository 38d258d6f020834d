// Rates over time, and how many operations took how long.

// A panel for each experiment of `rows`, drawn by `drawPanel`.
function panelsOf(place, rows, drawPanel) {
  place.classList.add("grid");
  place.replaceChildren(key());
  return known(rows.map((row) => row.experiment)).map((name) => {
    const own = of(rows, name);
    const question = [...data.experiments, ...data.studies].find((asked) => asked.name === name)?.question ?? "";
    const canvas = panel(place, own[0].unit ? `${name}, ${own[0].unit}` : name, question);
    canvas.parentElement.classList.toggle("wide", known(own.map((row) => row.panel)).length > 2);
    return drawPanel(canvas, own, name);
  });
}

function timePanel(place, rows, name) {
  const view = (own, width) => {
    const last = Math.max(...own.map((row) => row.seconds));
    const x = { field: "seconds", type: "quantitative", title: "seconds", scale: { domain: [0, last > 0 ? last : 1], nice: false },
      axis: { labelFlush: false, tickCount: Math.max(2, Math.ceil(width / 90)) } };
    const y = { field: "rate", type: "quantitative", title: null, scale: { zero: true }, axis: plainAxis };
    const strokeDash = { field: "whose", type: "nominal", legend: null,
      scale: { domain: ["applications", "clients from the server"], range: [[1, 0], [6, 4]] } };
    const tooltip = [{ field: "version" }, { field: "whose", title: "rate of" }, { field: "seconds", format: ".2~f" },
      { field: "rate", format: ",.4~r" }, { field: "unit" }];
    return { height: 110, layer: [
      { mark: { type: "line", strokeWidth: 1.8 }, encoding: { x, y, color: ofVersion, strokeDash } },
      { mark: { type: "point", filled: true, size: 80, opacity: 0 }, encoding: { x, y, color: ofVersion, tooltip } },
    ] };
  };
  return draw(place, panelled(place, rows, besideAxis + 14, view), `${name} over time`,
    `${name}: the rate of all clients over time, one line for each version`);
}

function latencyPanel(place, rows, name) {
  const view = (own) => {
    const domain = [Math.min(...own.map((row) => row.ends_ms)) / 1.25, Math.max(...own.map((row) => row.ends_ms)) * 1.25];
    const x = { field: "ends_ms", type: "quantitative", title: "time of an operation, ms", scale: { type: "log", domain, nice: false },
      axis: { values: ticks(...domain), format: "~r", labelFlush: false } };
    const y = { field: "share", type: "quantitative", title: null, scale: { zero: true }, axis: { format: "~%", tickCount: 4 } };
    const tooltip = [{ field: "version" }, { field: "ends_ms", title: "up to ms", format: ",.3~r" },
      { field: "share", title: "share", format: ".3~%" }];
    return { height: 140, layer: [
      { mark: { type: "line", strokeWidth: 1.8, interpolate: "step-before" }, encoding: { x, y, color: ofVersion } },
      { mark: { type: "point", filled: true, size: 80, opacity: 0 }, encoding: { x, y, color: ofVersion, tooltip } },
    ] };
  };
  return draw(place, panelled(place, rows, besideAxis + 14, view), `${name} times`,
    `${name}: the share of the operations by their time, one line for each version`);
}
