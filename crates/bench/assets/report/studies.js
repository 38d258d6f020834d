// Each experiment in the form in which its study drew it.

// One view for each panel of `rows`, in columns that fill `place`; `view` makes one from the rows and the width that it has.
// Views instead of facets: these have one offset for all panels, also where the places across are others.
function panelled(place, rows, beside, view) {
  const gap = 24;
  const names = known(rows.map((row) => row.panel));
  const columns = Math.min(names.length, Math.max(1, Math.floor(place.clientWidth / 480)));
  const width = Math.max(120, Math.floor((place.clientWidth - gap * (columns - 1)) / columns - beside));
  const one = (name) => {
    const own = rows.filter((row) => row.panel === name);
    // A figure has five pixels of its own on each side.
    const title = name === "" ? {} : { title: { text: lines(name, width + beside - 24) } };
    return { data: { values: own }, width, ...title, ...view(own, width) };
  };
  const resolve = { scale: { x: "independent", y: "independent", xOffset: "independent", color: "shared" } };
  return { concat: names.map(one), columns, spacing: { row: 22, column: gap }, align: "none", resolve };
}

// Ours and the published values in one list, so that one view has both.
function withMarks(study) {
  const marks = study.marks.map((mark) => ({ ...mark, mean: mark.value, shown: mark.label, kind: "published" }));
  return [...study.points.map((point) => ({ ...point, kind: "ours" })), ...marks];
}

const ofVersion = { field: "version", type: "nominal", scale: versionScale, legend: null };
const tooltip = [{ field: "version" }, { field: "x", title: "at" }, { field: "shown", title: "value" }];
const isOurs = { filter: "datum.kind === 'ours'" };
// Without a filter: a panel that has no published value would have a layer without an extent.
// Filled with the paper's colour, so that they can be seen on a bar too.
const diamonds = (x, y, more = {}) => ({
  mark: { type: "point", shape: "diamond", filled: true, fill: colour("card"), strokeWidth: 2 },
  encoding: { x, y, stroke: ofVersion, tooltip, ...more,
    size: { condition: { test: "datum.kind === 'published'", value: 90 }, value: 0 },
    opacity: { condition: { test: "datum.kind === 'published'", value: 1 }, value: 0 } },
});

// Names across stand aslant where they have no room beside each other.
const across = (study, places, width) =>
  ({ title: study.x, labelAngle: widest(places) + 6 > width / places.length ? -35 : 0 });

const besideAxis = 52;
const meanOf = { field: "mean", type: "quantitative", title: null, scale: { zero: true }, axis: plainAxis };

function studyBars(place, study) {
  const view = (rows, width) => {
    const places = known(rows.map((row) => row.x));
    const { title, labelAngle } = across(study, places, width);
    const x = { field: "x", type: "nominal", sort: places, title, axis: { labelAngle } };
    const xOffset = { field: "version", type: "nominal", sort: data.versions };
    return { height: 130, layer: [
      { transform: [isOurs], mark: { type: "bar", cornerRadiusEnd: 2 }, encoding: { x, xOffset, y: meanOf, color: ofVersion, tooltip } },
      { transform: [isOurs], mark: { type: "rule", color: colour("ink") }, encoding: { x, xOffset, y: { ...meanOf, field: "low" }, y2: { field: "high" } } },
      diamonds(x, meanOf, { xOffset }),
    ] };
  };
  return draw(place, panelled(place, withMarks(study), besideAxis, view), study.name,
    `${study.name}: bars for each version, diamonds for published values`);
}

function studyLines(place, study) {
  const view = (rows, width) => {
    const places = known(rows.map((row) => row.x));
    const { title, labelAngle } = across(study, places, width);
    const x = { field: "x", type: "ordinal", sort: places, title, axis: { labelAngle }, scale: { type: "point", padding: 0.3 } };
    return { height: 140, layer: [
      { transform: [isOurs], mark: { type: "line", strokeWidth: 2.5 }, encoding: { x, y: meanOf, color: ofVersion } },
      { transform: [isOurs], mark: { type: "rule" }, encoding: { x, y: { ...meanOf, field: "low" }, y2: { field: "high" }, color: ofVersion } },
      { transform: [isOurs], mark: { type: "point", filled: true, size: 60, opacity: 1 }, encoding: { x, y: meanOf, color: ofVersion, tooltip } },
      diamonds(x, meanOf),
    ] };
  };
  return draw(place, panelled(place, withMarks(study), besideAxis, view), study.name,
    `${study.name}: a line for each version, diamonds for published values`);
}

function studyMix(place, study) {
  const operations = known(study.shares.map((row) => row.operation)).sort();
  const y = { field: "version", type: "nominal", sort: data.versions, title: null, axis: { ticks: false, domain: false, labelLimit: 200 } };
  const x = { field: "share", type: "quantitative", stack: "zero", scale: { domain: [0, 1] }, title: "share of the requests",
    axis: { format: ".0%", tickCount: 5 } };
  const color = { field: "operation", type: "nominal", scale: kindScale(operations), legend: legendAbove(operations, place.clientWidth - 16) };
  const tooltip = [{ field: "operation" }, { field: "share", format: ".1%" }, { field: "version" }, { field: "panel", title: "at" }];
  const mark = { type: "bar", stroke: colour("card"), strokeWidth: 0.5 };
  const view = () => ({ height: { step: 24 }, mark, encoding: { y, x, color, order: { field: "operation" }, tooltip } });
  const beside = Math.min(200, widest(data.versions)) + 30;
  return draw(place, panelled(place, study.shares, beside, view), study.name, `${study.name}: shares of the requests of each version`);
}

function studyTimeline(place, study) {
  const clients = known(study.rates.map((row) => row.client));
  const end = Math.max(...study.rates.map((row) => row.seconds));
  const encoding = (width) => ({
    x: { field: "seconds", type: "quantitative", title: "seconds", scale: { domain: [0, end > 0 ? end : 1] },
      axis: { labelFlush: false, tickCount: Math.ceil(width / 90) } },
    y: { field: "rate", type: "quantitative", title: null, scale: { zero: true }, axis: plainAxis },
    color: { field: "client", type: "nominal", scale: kindScale(clients), legend: legendAbove(clients, place.clientWidth - 16) },
  });
  const tooltip = [{ field: "client" }, { field: "seconds", format: ".2~f" }, { field: "rate", format: ",.4~r" }];
  // A line is one thing that has one tooltip; the places on it have each their own.
  const view = (_, width) => ({ height: 110, layer: [
    { mark: { type: "line", strokeWidth: 1.8, interpolate: "step-after" }, encoding: encoding(width) },
    { mark: { type: "point", filled: true, size: 80, opacity: 0 }, encoding: { ...encoding(width), tooltip } },
  ] });
  return draw(place, panelled(place, study.rates, besideAxis + 14, view), study.name,
    `${study.name}: the rate of each client over time`);
}

function studies(place) {
  place.classList.add("grid");
  place.replaceChildren(key());
  const forms = { bars: studyBars, lines: studyLines, mix: studyMix, timeline: studyTimeline };
  const rows = { bars: "points", lines: "points", mix: "shares", timeline: "rates" };
  return data.studies.map((study) => {
    const heading = study.unit ? `${study.name}, ${study.unit}` : study.name;
    const canvas = panel(place, heading, `${study.question} After ${study.study}.`);
    const own = study[rows[study.form]];
    canvas.parentElement.classList.toggle("wide", known(own.map((row) => row.panel)).length > 2);
    if (own.length === 0) {
      canvas.replaceChildren("Nothing was recorded for this figure.");
      return Promise.resolve();
    }
    return forms[study.form](canvas, study);
  });
}
