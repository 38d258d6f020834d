// Requests for each operation of the application, by name.

// Two pieces fit on a printed page.
const barsOfRequests = 30;

function requestsFigure(place) {
  const delays = data.delays.filter((delay) => data.requests.some((row) => row.delay === delay));
  if (delays.length === 0) {
    place.replaceChildren("No requests were counted.");
    return [];
  }
  const before = place.querySelector("select")?.value;
  const select = element("select", {}, delays.map((delay) => element("option", { value: delay, textContent: delay })));
  select.value = delays.includes(before) ? before : delays.at(-1);
  const canvas = element("div");
  place.replaceChildren(element("label", { className: "choice" }, ["at a delay of", select]), canvas);
  const redraw = () => {
    canvas.replaceChildren();
    const rows = data.requests.filter((row) => row.delay === select.value);
    const pieces = inPieces(known(rows.map((row) => row.experiment)), Math.ceil(barsOfRequests / data.versions.length));
    return pieces.map((names, nth) => draw(canvas, requestsSpec(canvas, rows.filter((row) => names.includes(row.experiment))),
      pieces.length > 1 ? `requests ${nth + 1}` : "requests", "Requests for each operation, stacked by name"));
  };
  select.addEventListener("change", redraw);
  return redraw();
}

function requestsSpec(place, rows) {
  const narrow = isNarrow(place);
  const operations = known(data.requests.map((row) => row.operation)).filter((name) => name !== "").sort();
  const experiments = data.experiments.map(({ name }) => name);
  const nameWidth = Math.min(200, widest(data.versions));
  const beside = nameWidth + (narrow ? 0 : Math.min(200, widest(experiments, 13)) + 16) + widest(rows.map((row) => row.total_shown)) + 30;
  const width = Math.max(120, place.clientWidth - beside);
  const y = { field: "version", type: "nominal", sort: data.versions, title: null, axis: { ticks: false, domain: false, labelLimit: 200 } };
  const most = Math.max(...data.requests.map((row) => row.total));
  const x = { type: "quantitative", title: "requests per operation", scale: { domain: [0, most > 0 ? most : 1] },
    axis: { tickCount: narrow ? 4 : 6 } };
  return {
    data: { values: rows },
    facet: { row: { field: "experiment", type: "nominal", sort: experiments, title: null,
      header: { labelAngle: 0, labelAlign: "left", labelColor: colour("ink"), labelFontSize: 13, labelLimit: 200,
        ...(narrow ? { labelOrient: "top", labelAnchor: "start" } : {}) } } },
    spacing: 14,
    spec: {
      width, height: { step: 21 },
      layer: [
        { mark: { type: "bar", stroke: colour("card"), strokeWidth: 0.5 }, encoding: { y, x: { ...x, field: "count", stack: "zero" }, order: { field: "operation" },
          color: { field: "operation", type: "nominal", title: null, scale: kindScale(operations),
            legend: legendAbove(operations, place.clientWidth - 16) },
          tooltip: [{ field: "operation" }, { field: "count", title: "per operation", format: ".3~r" }, { field: "version" },
            { field: "experiment" }, { field: "delay" }] } },
        { transform: [{ aggregate: [{ op: "max", field: "total", as: "all" }], groupby: ["version", "total_shown"] }],
          mark: { type: "text", align: "left", dx: 6 }, encoding: { y, x: { ...x, field: "all" }, text: { field: "total_shown" } } },
      ],
    },
  };
}
