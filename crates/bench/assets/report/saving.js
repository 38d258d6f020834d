// Saves figures as they are on paper, whatever the page looks like.

function saving(view, name) {
  const button = (kind, make) => {
    const made = element("button", { type: "button", textContent: kind });
    made.setAttribute("aria-label", `Save ${name} as ${kind}`);
    made.addEventListener("click", async () => {
      const link = element("a", { href: URL.createObjectURL(await make(view)), download: `${name}.${kind.toLowerCase()}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
    return made;
  };
  return element("p", { className: "save" }, ["Save as ", button("SVG", asSvg), " ", button("PNG", asPng)]);
}

async function svgText(view) {
  const text = await view.toSVG();
  return text.replace(/(fill|stroke)="([^"]*var\([^"]*)"/g, (_, attribute, value) => `${attribute}="${onPaper(value)}"`);
}

const asSvg = async (view) => new Blob([await svgText(view)], { type: "image/svg+xml" });

// Two pixels for each of the page's: sharp on paper and on most screens.
async function asPng(view) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await svgText(view))}`;
  await image.decode();
  const canvas = element("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
