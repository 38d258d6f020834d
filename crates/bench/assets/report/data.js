// Draws the figures of the report from these rows. Knows nothing but them and the page's colours.

const data = JSON.parse(document.getElementById("figures-data").textContent);
