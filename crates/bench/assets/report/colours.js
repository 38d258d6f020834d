// The colours of the figures. In the page they are variables of the style sheet, so that a figure follows the page from
// light to dark and onto paper; in a saved file they are the values that they have on paper.

const verdicts = ["faster", "slower", "same", "not decided"];

const colour = (name) => `var(--${name})`;
const verdictColours = ["faster", "slower", "same", "unclear"].map(colour);

// "v4.1 · name": one of several results in one report.
const numberOf = (version) => version.split(" · ")[0];
const labelOf = (version) => version.split(" · ").slice(1).join(" · ");
const labels = [...new Set(data.versions.map(labelOf))];

// Published values are of a version, whoever's results are in the report.
const allVersions = [...new Set([...data.versions, ...data.versions.map(numberOf)])];

// Arms with names of their own, such as "new v4.1", have no colour that belongs to them.
const armNames = allVersions.map(numberOf).filter((name) => !/^(v\d|local$)/.test(name));

// Versions differ in hue, and the results that are in one report in how dark it is.
function versionColour(version) {
  const known = { "v3": "v3", "v4.0": "v40", "v4.1": "v41", "v4.2": "v42" };
  const arm = armNames.indexOf(numberOf(version));
  const hue = colour(arm >= 0 ? `kind-${arm % 12}` : known[numberOf(version)] ?? "other");
  const percent = Math.max(0, Math.round(60 * labels.indexOf(labelOf(version)) / labels.length));
  return percent > 0 ? `color-mix(in srgb, ${colour("shade")} ${percent}%, ${hue})` : hue;
}

const versionScale = { domain: allVersions, range: allVersions.map(versionColour) };

// What has no order and no meaning of its own: operations, clients.
function kindScale(kinds) {
  const count = 12;
  return { domain: kinds, range: kinds.map((_, place) => colour(`kind-${place % count}`)) };
}

// The value on paper of what may stand in an attribute of a figure.
function onPaper(expression) {
  const paper = document.querySelector(".paper");
  paper.style.color = expression;
  const value = getComputedStyle(paper).color;
  paper.style.color = "";
  // What was mixed is told as "color(srgb 0.1 0.2 0.3)", which programs that draw do not know.
  const mixed = /^color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)/.exec(value);
  return mixed ? `rgb(${mixed.slice(1).map((part) => Math.round(255 * Number(part))).join(", ")})` : value;
}
