// Looks at a page as a reader would. Every function answers a list of what is wrong, which is empty in a good page.
(() => {
  "use strict";

  const said = (element) => `${element.tagName} ${element.className?.baseVal ?? element.className}: ${element.textContent.trim().slice(0, 40)}`;
  const isShown = (element) => element.checkVisibility() && element.getBoundingClientRect().width > 0;
  const figures = () => [...document.querySelectorAll(".drawing svg")];
  const textsOf = (svg) => [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() !== "" && isShown(text));

  // What reaches beyond `width`, other than in boxes that scroll by themselves; figures and comparisons must not need that.
  function tooWide(width) {
    const wrong = [];
    if (document.body.scrollWidth > width) wrong.push(`the page is ${document.body.scrollWidth} wide`);
    for (const element of document.body.querySelectorAll("*")) {
      if (element.closest(".scroll table:not(.comparisons), svg, caption") || !isShown(element)) continue;
      const { left, right } = element.getBoundingClientRect();
      const mustFit = element.matches(".drawing, .scroll:has(.comparisons)") && element.scrollWidth > element.clientWidth;
      if (left < -0.5 || right > width + 0.5 || mustFit) wrong.push(`${said(element)} from ${left} to ${right}`);
    }
    return wrong;
  }

  // Figures that are wider than their box, and texts that are cut off at a figure's edge.
  function cutOff() {
    const wrong = [];
    for (const svg of figures()) {
      const box = svg.closest(".drawing").getBoundingClientRect();
      const own = svg.getBoundingClientRect();
      if (own.right > box.right + 1) wrong.push(`a figure of ${own.width} in ${box.width}: ${svg.closest("section").id} ${said(svg.closest(".figure"))}`);
      for (const text of textsOf(svg)) {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        if (left < own.left - 1 || right > own.right + 1 || top < own.top - 2 || bottom > own.bottom + 2) wrong.push(`cut: ${text.textContent}`);
      }
    }
    return wrong;
  }

  // Texts of one figure that stand on each other. What is aslant has no box of its own and is left out.
  function onEachOther() {
    const wrong = [];
    const isUpright = (text) => !/rotate\((?!-?90|0)/.test(text.getAttribute("transform") ?? "");
    for (const svg of figures()) {
      const boxes = textsOf(svg).filter(isUpright).map((text) => [text.textContent, text.getBoundingClientRect()]);
      boxes.forEach(([first, one], place) => {
        for (const [second, other] of boxes.slice(place + 1)) {
          const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
          const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
          if (across > 1 && down > 4) wrong.push(`"${first}" and "${second}" in ${said(svg.closest(".panel, .figure"))}`);
        }
      });
    }
    return wrong;
  }

  function parts(colour) {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    return colour.startsWith("color(srgb") ? numbers : numbers.map((part, place) => (place < 3 ? part / 255 : part));
  }

  function luminance(colour) {
    const [red, green, blue] = parts(colour).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function contrast(first, second) {
    const [low, high] = [luminance(first), luminance(second)].sort((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  }

  function behind(element) {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  }

  // Texts that are hard to read before what is behind them (WCAG's ratio of 4.5), and how many were looked at.
  function hardToRead() {
    const wrong = [];
    let looked = 0;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (walker.currentNode.data.trim() === "" || element.closest("script, noscript") || !isShown(element)) continue;
      const style = getComputedStyle(element);
      const colour = element.closest("svg") ? style.fill : style.color;
      looked += 1;
      const ratio = contrast(colour, behind(element));
      if (ratio < 4.5) wrong.push(`${ratio.toFixed(2)}: ${said(element)}`);
    }
    return looked > 200 ? wrong : [`only ${looked} texts were looked at`, ...wrong];
  }

  const painted = (svg) => [...svg.querySelectorAll("path")].flatMap((path) => {
    const style = getComputedStyle(path);
    const isMark = path.closest(".mark-rect, .mark-line, .mark-symbol") && path.closest(".role-mark, .role-legend-symbol") && style.opacity !== "0";
    return isMark ? [style.fill, style.stroke].filter((colour) => colour !== "none" && (parts(colour)[3] ?? 1) > 0) : [];
  });

  // Marks that do not stand out from the paper (3 is WCAG's ratio for graphics). A lighter edge or inside is no fault.
  function pale() {
    const wrong = new Set();
    let looked = 0;
    for (const svg of figures()) {
      const paper = behind(svg);
      const colours = new Set(painted(svg).filter((colour) => contrast(colour, paper) > 1.3));
      looked += colours.size;
      for (const colour of colours) if (contrast(colour, paper) < 3) wrong.add(`${contrast(colour, paper).toFixed(2)}: ${colour}`);
    }
    return looked > 20 ? [...wrong] : [`only ${looked} colours were looked at`, ...wrong];
  }

  // Versions in the key whose colours are less than `least` apart, of 255 for each part.
  function alike(least) {
    const swatches = [...document.querySelectorAll("#means .key i")].map((swatch) => parts(getComputedStyle(swatch).backgroundColor));
    const wrong = swatches.length > 1 ? [] : ["there are no versions to compare"];
    swatches.forEach((one, place) => {
      for (const other of swatches.slice(place + 1)) {
        const apart = 255 * Math.hypot(...[0, 1, 2].map((part) => one[part] - other[part]));
        if (apart < least) wrong.push(`${one} and ${other} are ${apart} apart`);
      }
    });
    return wrong;
  }

  // Bars that are too thin to be seen; every value of theirs is above zero.
  function vanished() {
    const bars = [...document.querySelectorAll("#means .mark-rect.role-mark > path, #studies .mark-rect.role-mark > path")];
    const thin = bars.filter((bar) => bar.getBoundingClientRect().width < 2 || bar.getBoundingClientRect().height === 0);
    return bars.length > 5 ? thin.map((bar) => bar.getAttribute("aria-label")) : [`only ${bars.length} bars were looked at`];
  }

  // Tables that do not fit into their boxes.
  function scrolling() {
    const boxes = [...document.querySelectorAll(".scroll")].filter(isShown);
    const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth + 1);
    return boxes.length > 3 ? wide.map((box) => `${box.getAttribute("aria-label")}: ${box.scrollWidth} in ${box.clientWidth}`) : ["there are no tables"];
  }

  // Tooltips that reach beyond the window.
  function tooltipsOutside() {
    const marks = [...document.querySelectorAll(".mark-symbol.role-mark > path, .mark-rect.role-mark > path")];
    const wrong = [];
    let looked = 0;
    for (const mark of marks) {
      const { left, top, width, height } = mark.getBoundingClientRect();
      mark.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: left + width / 2, clientY: top + height / 2 }));
      const tooltip = document.getElementById("vg-tooltip-element");
      if (!tooltip?.classList.contains("visible")) continue;
      const box = tooltip.getBoundingClientRect();
      looked += 1;
      if (box.left < 0 || box.right > innerWidth) wrong.push(`${tooltip.textContent.slice(0, 40)} from ${box.left} to ${box.right}`);
      tooltip.classList.remove("visible");
    }
    return looked > 50 ? wrong : [`only ${looked} tooltips were looked at`, ...wrong];
  }

  // What a finger does not hit.
  function tooSmall() {
    const wanted = [...document.querySelectorAll("button, select, summary")].filter(isShown);
    const small = wanted.filter((element) => element.getBoundingClientRect().height < 43.5);
    return wanted.length > 20 ? small.map(said) : [`only ${wanted.length} were looked at`];
  }

  // Figures that a page of `height` has no room for, and what has no use on paper.
  function brokenOnPaper(height) {
    const tall = [...document.querySelectorAll(".drawing")].filter((drawing) => drawing.getBoundingClientRect().height > height);
    const useless = [...document.querySelectorAll("button")].filter(isShown);
    // Browsers leave out backgrounds unless they are asked for them.
    const bare = [...document.querySelectorAll(".key i")].filter((swatch) => getComputedStyle(swatch).printColorAdjust !== "exact");
    return [...[...tall, ...useless, ...bare].map(said), ...scrolling()];
  }

  window.looks = { tooWide, cutOff, onEachOther, hardToRead, pale, alike, vanished, scrolling, tooltipsOutside, tooSmall, brokenOnPaper, contrast };
})();
