// Draws the figures of the report from the rows in #figures-data. Knows nothing but those rows and the page's colours.
(() => {
  "use strict";

  const data = JSON.parse(document.getElementById("figures-data").textContent);
  const verdicts = ["faster", "slower", "same", "unclear"];
  const shapes = ["triangle-up", "triangle-down", "circle", "diamond"];

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  // "v4.1 · name": one of several results in one report.
  const labelOf = (version) => version.split(" · ").slice(1).join(" · ");
  const labels = [...new Set(data.versions.map(labelOf))];

  // Versions differ in hue, and the results that are in one report in how far it is mixed with the paper's colour.
  const versionColour = (version) => {
    const known = { "v3": "v3", "v4.0": "v40", "v4.1": "v41", "v4.2": "v42" };
    const hue = colour(known[version.split(" · ")[0]] ?? "other");
    const share = 0.9 * labels.indexOf(labelOf(version)) / labels.length;
    return share > 0 ? mixed(hue, colour("card"), share) : hue;
  };

  function mixed(first, second, share) {
    const part = (text, place) => parseInt(text.slice(1 + 2 * place, 3 + 2 * place), 16);
    const parts = [0, 1, 2].map((place) => Math.round(part(first, place) * (1 - share) + part(second, place) * share));
    return `rgb(${parts.join(", ")})`;
  }

  // Published values are of a version, whoever's results are in the report.
  const versionScale = () => {
    const domain = [...new Set([...data.versions, ...data.versions.map((version) => version.split(" · ")[0])])];
    return { domain, range: domain.map(versionColour) };
  };

  const config = () => ({
    background: null,
    font: getComputedStyle(document.body).fontFamily,
    axis: {
      labelColor: colour("soft"), titleColor: colour("soft"), gridColor: colour("line"), domainColor: colour("line"),
      tickColor: colour("line"), labelFontSize: 12, titleFontSize: 12, titleFontWeight: 400,
    },
    header: { labelColor: colour("soft"), labelFontSize: 12, titleColor: colour("soft") },
    legend: { labelColor: colour("ink"), titleColor: colour("soft"), labelFontSize: 12, symbolSize: 110 },
    text: { color: colour("ink"), fontSize: 12 },
    view: { stroke: null },
  });

  const element = (tag, properties = {}, children = []) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

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

  async function draw(place, spec, description) {
    const options = { ast: true, renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } };
    try {
      await vegaEmbed(place, { ...spec, description, config: config() }, options);
    } catch (error) {
      place.textContent = "This figure could not be drawn; its numbers are in the tables.";
      console.error(error);
    }
  }

  const inner = (place) => place.clientWidth - 34;

  const of = (rows, experiment) => rows.filter((row) => row.experiment === experiment);

  function key() {
    const entries = data.versions.map((version) => {
      const swatch = element("i");
      swatch.style.background = versionColour(version);
      return element("li", {}, [swatch, version]);
    });
    return element("ul", { className: "key" }, entries);
  }

  function panels(place, rows, drawPanel) {
    place.classList.add("grid");
    place.replaceChildren(key());
    return data.experiments.map(async ({ name, question }) => {
      const own = of(rows, name);
      const canvas = element("div");
      const unit = own[0]?.unit ?? "";
      place.append(element("div", { className: "panel" }, [
        element("h3", { textContent: `${name}, ${unit}` }), element("p", { textContent: question }), canvas,
      ]));
      await drawPanel(canvas, own, name);
    });
  }

  function meansPanel(place, rows, name) {
    const delays = data.delays.filter((delay) => rows.some((row) => row.delay === delay));
    // The button beside the figure takes 38 pixels.
    const width = Math.max(34, (place.clientWidth - 48) / delays.length - 18);
    const x = { field: "version", type: "nominal", sort: data.versions, axis: null, scale: { paddingInner: 0.18, paddingOuter: 0.12 } };
    const tooltip = [
      { field: "version", title: "version" }, { field: "delay", title: "delay" },
      { field: "mean", title: "mean", format: ",.4~r" }, { field: "low", title: "95 % from", format: ",.4~r" },
      { field: "high", title: "to", format: ",.4~r" }, { field: "unit", title: "unit" },
    ];
    return draw(place, {
      data: { values: rows },
      facet: { column: { field: "delay", type: "nominal", sort: data.delays, title: null, header: { labelOrient: "bottom", labelPadding: 6 } } },
      spacing: 18,
      spec: {
        width, height: 130,
        layer: [
          { mark: { type: "bar", cornerRadiusEnd: 2 }, encoding: {
            x, y: { field: "mean", type: "quantitative", axis: null, scale: { zero: true } },
            color: { field: "version", type: "nominal", scale: versionScale(), legend: null }, tooltip } },
          { mark: { type: "errorbar", ticks: { color: colour("ink"), width: 9 }, rule: { color: colour("ink") } }, encoding: {
            x, y: { field: "low", type: "quantitative", axis: null, title: null }, y2: { field: "high" } } },
          { mark: { type: "text", dy: -9, baseline: "bottom", fontSize: data.versions.length > 3 ? 8 : 12 }, encoding: {
            x, y: { field: "high", type: "quantitative", axis: null }, text: { field: "shown" } } },
        ],
      },
      resolve: { scale: { y: "independent" } },
    }, `${name}: means of each version at each delay, as bars with 95 % intervals`);
  }

  function sweepPanel(place, rows, name) {
    const positive = rows.filter((row) => row.mean > 0).map((row) => ({ ...row, low: row.low > 0 ? row.low : row.mean }));
    const x = { field: "delay", type: "ordinal", sort: data.delays, title: "round-trip delay", axis: { labelAngle: 0 }, scale: { type: "point", padding: 0.3 } };
    const domain = [Math.min(...positive.map((row) => row.low)) / 1.25, Math.max(...positive.map((row) => row.high)) * 1.25];
    const y = { type: "quantitative", scale: { type: "log", domain, nice: false }, title: rows[0]?.unit,
      axis: { format: "~s", values: ticks(...domain) } };
    const strokeDash = { field: "version", type: "nominal", sort: data.versions, legend: null,
      scale: { domain: versionScale().domain, range: [[1, 0], [7, 4], [2, 3], [9, 3, 2, 3]] } };
    const color = { field: "version", type: "nominal", scale: versionScale(), legend: null };
    if (positive.length === 0) {
      place.replaceChildren("Nothing above zero was measured.");
      return Promise.resolve();
    }
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
    }, `${name}: means over the delay, one line for each version`);
  }

  function ratioFigure(place) {
    if (data.ratios.length === 0) {
      place.replaceChildren("Nothing was compared.");
      return Promise.resolve();
    }
    const ends = data.ratios.flatMap((row) => [row.low, row.high]);
    const domain = [Math.min(0.9, ...ends) / 1.1, Math.max(1.1, ...ends) * 1.1];
    const x = { type: "quantitative", scale: { type: "log", domain, nice: false }, title: "ratio (logarithmic)",
      axis: { format: ",~r", values: ticks(...domain) } };
    const y = { field: "row", type: "nominal", sort: null, title: null,
      axis: { labelLimit: 320, ticks: false, domain: false, grid: true, gridOpacity: 0.5, labelColor: colour("ink") } };
    const range = verdicts.map(colour);
    const legend = { orient: "top", title: null, offset: 14 };
    const color = { field: "verdict", type: "nominal", scale: { domain: verdicts, range }, legend };
    const shape = { field: "verdict", type: "nominal", scale: { domain: verdicts, range: shapes }, legend };
    // Beside the figure stand the names, of at most labelLimit pixels, and the ratios.
    const longest = Math.max(...data.ratios.map((row) => row.row.length));
    const width = Math.max(200, inner(place) - Math.max(335, 175 + Math.min(320, 6.5 * longest)));
    return draw(place, {
      data: { values: data.ratios },
      width, height: { step: 22 },
      layer: [
        { data: { values: [{ from: 1 / 1.03, to: 1.03 }] }, mark: { type: "rect", color: colour("band") },
          encoding: { x: { ...x, field: "from" }, x2: { field: "to" } } },
        { data: { values: [{ one: 1 }] }, mark: { type: "rule", color: colour("ink") }, encoding: { x: { ...x, field: "one" } } },
        { mark: { type: "rule", strokeWidth: 2.5 }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" }, y, color } },
        { mark: { type: "point", filled: true, size: 75, opacity: 1 }, encoding: { x: { ...x, field: "ratio" }, y,
          color, shape,
          tooltip: [{ field: "row", title: "comparison" }, { field: "shown", title: "ratio" }, { field: "verdict" }, { field: "reason" }] } },
        { mark: { type: "text", align: "left", dx: 12 }, encoding: { x: { value: "width" }, y, text: { field: "shown" },
          color: { value: colour("soft") } } },
      ],
    }, "Ratio of each comparison with its 95 % interval");
  }

  function requestsFigure(place) {
    const delays = data.delays.filter((delay) => data.requests.some((row) => row.delay === delay));
    if (delays.length === 0) {
      place.replaceChildren(data.studies.length > 0
        ? "Experiments with factors are drawn below, in the form of their study; their requests are in the table."
        : "No requests were counted.");
      return Promise.resolve();
    }
    const before = place.querySelector("select")?.value;
    const select = element("select", {}, delays.map((delay) => element("option", { value: delay, textContent: delay })));
    select.value = delays.includes(before) ? before : delays.at(-1);
    const canvas = element("div");
    place.replaceChildren(element("label", { className: "choice" }, ["at a delay of", select]), canvas);
    const redraw = () => draw(canvas, requestsSpec(place, select.value), "Requests for each operation, stacked by name");
    select.addEventListener("change", redraw);
    return redraw();
  }

  function requestsSpec(place, delay) {
    const rows = data.requests.filter((row) => row.delay === delay);
    const operations = [...new Set(data.requests.map((row) => row.operation))].sort();
    const y = { field: "version", type: "nominal", sort: data.versions, title: null, axis: { ticks: false, domain: false, labelLimit: 200 } };
    const x = { type: "quantitative", title: "requests per operation", axis: { tickCount: 6 } };
    return {
      data: { values: rows },
      facet: { row: { field: "experiment", type: "nominal", sort: data.experiments.map(({ name }) => name), title: null,
        header: { labelAngle: 0, labelAlign: "left", labelColor: colour("ink"), labelFontSize: 13, labelLimit: 200 } } },
      spacing: 14,
      spec: {
        width: Math.max(200, inner(place) - 320), height: { step: 21 },
        layer: [
          { mark: { type: "bar" }, encoding: { y, x: { ...x, field: "count", stack: "zero" }, order: { field: "operation" },
            color: { field: "operation", type: "nominal", title: null,
              scale: { domain: operations, scheme: operations.length > 10 ? "tableau20" : "tableau10" },
              legend: { orient: "top", columns: 8 } },
            tooltip: [{ field: "operation" }, { field: "count", title: "per operation", format: ".3~r" }, { field: "version" }] } },
          { transform: [{ aggregate: [{ op: "max", field: "total", as: "all" }], groupby: ["version", "total_shown"] }],
            mark: { type: "text", align: "left", dx: 6 }, encoding: { y, x: { ...x, field: "all" }, text: { field: "total_shown" } } },
        ],
      },
    };
  }

  const known = (values) => [...new Set(values)];

  // A facet for each panel, one above the other, with scales of their own.
  function panelled(place, rows, spec, height, shared = true) {
    return {
      data: { values: rows },
      facet: { row: { field: "panel", type: "nominal", sort: known(rows.map((row) => row.panel)), title: null,
        header: { labelAngle: 0, labelAnchor: "start", labelOrient: "top", labelColor: colour("ink") } } },
      spacing: 22,
      spec: { width: Math.max(200, place.clientWidth - 90), height, ...spec },
      resolve: { scale: { x: shared ? "shared" : "independent", y: "independent" } },
    };
  }

  // Ours and the published values in one list, so that one facet has both.
  function withMarks(study) {
    const marks = study.marks.map((mark) => ({ ...mark, mean: mark.value, shown: mark.label, kind: "published" }));
    return [...study.points.map((point) => ({ ...point, kind: "ours" })), ...marks];
  }

  const tooltip = [{ field: "version" }, { field: "x", title: "at" }, { field: "shown", title: "value" }];
  const isOurs = { filter: "datum.kind === 'ours'" };
  // Without a filter: a panel that has no published value would have a layer without an extent.
  const diamonds = (x, y, color, more = {}) => ({
    mark: { type: "point", shape: "diamond", filled: true, stroke: colour("ink"), strokeWidth: 1.5 },
    encoding: { x, y, color, tooltip, ...more,
      size: { condition: { test: "datum.kind === 'published'", value: 90 }, value: 0 },
      opacity: { condition: { test: "datum.kind === 'published'", value: 1 }, value: 0 } },
  });

  function studyBars(place, study) {
    const rows = withMarks(study);
    const x = { field: "x", type: "nominal", sort: known(rows.map((row) => row.x)), title: study.x, axis: { labelAngle: study.x === "phase" ? -35 : 0 } };
    const xOffset = { field: "version", type: "nominal", sort: data.versions };
    const y = { field: "mean", type: "quantitative", title: null, axis: { tickCount: 4, format: "~s" } };
    const color = { field: "version", type: "nominal", scale: versionScale(), legend: null };
    return draw(place, panelled(place, rows, { layer: [
      { transform: [isOurs], mark: { type: "bar", cornerRadiusEnd: 2 }, encoding: { x, xOffset, y, color, tooltip } },
      { transform: [isOurs], mark: { type: "rule", color: colour("ink") }, encoding: { x, xOffset, y: { ...y, field: "low" }, y2: { field: "high" } } },
      diamonds(x, y, color, { xOffset }),
    ] }, 130, study.unit !== ""), `${study.name}: bars for each version, diamonds for published values`);
  }

  function studyLines(place, study) {
    const rows = withMarks(study);
    const x = { field: "x", type: "ordinal", sort: known(rows.map((row) => row.x)), title: study.x, axis: { labelAngle: 0 }, scale: { type: "point", padding: 0.3 } };
    const y = { field: "mean", type: "quantitative", title: null, scale: { zero: true }, axis: { tickCount: 4, format: "~s" } };
    const color = { field: "version", type: "nominal", scale: versionScale(), legend: null };
    return draw(place, panelled(place, rows, { layer: [
      { transform: [isOurs], mark: { type: "line", strokeWidth: 2.5 }, encoding: { x, y, color } },
      { transform: [isOurs], mark: { type: "rule" }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color } },
      { transform: [isOurs], mark: { type: "point", filled: true, size: 60, opacity: 1 }, encoding: { x, y, color, tooltip } },
      diamonds(x, y, color),
    ] }, 140), `${study.name}: a line for each version, diamonds for published values`);
  }

  function studyMix(place, study) {
    const operations = known(study.shares.map((row) => row.operation)).sort();
    const y = { field: "version", type: "nominal", sort: data.versions, title: null, axis: { ticks: false, domain: false, labelLimit: 200 } };
    return draw(place, panelled(place, study.shares, { mark: "bar", encoding: {
      y, x: { field: "share", type: "quantitative", stack: "zero", scale: { domain: [0, 1] }, title: "share of the requests", axis: { format: ".0%" } },
      color: { field: "operation", type: "nominal", title: null, legend: { orient: "top", columns: 6 },
        scale: { domain: operations, scheme: operations.length > 10 ? "tableau20" : "tableau10" } },
      order: { field: "operation" },
      tooltip: [{ field: "operation" }, { field: "share", format: ".1%" }, { field: "version" }],
    } }, { step: 24 }), `${study.name}: shares of the requests of each version`);
  }

  function studyTimeline(place, study) {
    return draw(place, panelled(place, study.rates, { mark: { type: "line", strokeWidth: 1.8, interpolate: "step-after" }, encoding: {
      x: { field: "seconds", type: "quantitative", title: "seconds" },
      y: { field: "rate", type: "quantitative", title: null, scale: { zero: true }, axis: { tickCount: 4, format: "~s" } },
      color: { field: "client", type: "nominal", title: null, scale: { scheme: "tableau10" }, legend: { orient: "top", columns: 5 } },
      tooltip: [{ field: "client" }, { field: "seconds", format: ".2~f" }, { field: "rate", format: ",.4~r" }],
    } }, 110), `${study.name}: the rate of each client over time`);
  }

  function studies(place) {
    if (data.studies.length === 0) {
      place.replaceChildren("Nothing that was measured here was drawn before.");
      return [];
    }
    place.classList.add("grid");
    place.replaceChildren(key());
    const forms = { bars: studyBars, lines: studyLines, mix: studyMix, timeline: studyTimeline };
    const rows = { bars: "points", lines: "points", mix: "shares", timeline: "rates" };
    return data.studies.map((study) => {
      const canvas = element("div");
      place.append(element("div", { className: "panel" }, [
        element("h3", { textContent: study.unit ? `${study.name}, ${study.unit}` : study.name }),
        element("p", { textContent: `${study.question} After ${study.study}.` }), canvas,
      ]));
      if (study[rows[study.form]].length === 0) {
        canvas.replaceChildren("Nothing was recorded for this figure.");
        return Promise.resolve();
      }
      return forms[study.form](canvas, study);
    });
  }

  async function drawAll() {
    const place = (id) => document.getElementById(id);
    await Promise.all([
      ratioFigure(place("ratio")),
      ...panels(place("means"), data.means, meansPanel),
      requestsFigure(place("requests")),
      ...panels(place("sweep"), data.means, sweepPanel),
      ...studies(place("studies")),
    ]);
    document.documentElement.dataset.drawn = "true";
  }

  let width = window.innerWidth;
  let waiting;
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
})();
