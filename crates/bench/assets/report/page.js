// Draws all figures that the page has a place for, and again where its width becomes another.

async function drawAll() {
  const figures = {
    ratio: ratioFigure,
    means: (place) => panels(place, meansPanel),
    requests: requestsFigure,
    sweep: (place) => panels(place, sweepPanel),
    studies,
    time: (place) => panelsOf(place, data.slices, timePanel),
    latency: (place) => panelsOf(place, data.buckets, latencyPanel),
  };
  const places = Object.keys(figures).map((name) => document.getElementById(name)).filter((place) => place !== null);
  await Promise.all(places.flatMap((place) => figures[place.id](place)));
  document.documentElement.dataset.drawn = "true";
}

let width = window.innerWidth;
let waiting;
drawAll();
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 150);
});
