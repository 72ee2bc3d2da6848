// SPDX-License-Identifier: GPL-3.0-or-later
// Runs inside a page: what a reader of this width and this theme would stumble over.
() => {
  const findings = [];
  const root = document.documentElement;

  // What is asked of an element is asked of all around it, so each answer is kept.
  const kept = (work) => {
    const answers = new Map();
    const answer = (element) => {
      if (!answers.has(element)) answers.set(element, work(element, element.parentElement && answer(element.parentElement)));
      return answers.get(element);
    };
    return answer;
  };
  const styleOf = kept((element) => getComputedStyle(element));
  const shown = kept((element, around) => {
    const style = styleOf(element);
    return around !== false && style.display !== "none" && style.visibility === "visible" && style.opacity !== "0";
  });
  const named = (element) => element.tagName.toLowerCase() + [...element.classList].map((name) => "." + name).join("");
  const shorten = (text) => text.trim().replace(/\s+/g, " ").slice(0, 40);

  // --- nothing is wider than the screen
  if (root.scrollWidth > window.innerWidth) {
    const wide = [...document.querySelectorAll("article *")].filter(
      (element) => element.getBoundingClientRect().right > window.innerWidth + 1 && !element.closest(".table-wrapper, pre"));
    const where = wide.slice(-3).map((element) => named(element) + " '" + shorten(element.textContent) + "'").join(", ");
    findings.push(`${root.scrollWidth} px wide on a screen of ${window.innerWidth} px: ${where}`);
  }

  // --- every text stands out from what is behind it
  const parse = (text) => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    return text.startsWith("color(srgb") ? [numbers[0] * 255, numbers[1] * 255, numbers[2] * 255, numbers[3] ?? 1]
      : [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1];
  };
  const over = (top, below) => {
    const alpha = top[3] + below[3] * (1 - top[3]);
    if (alpha === 0) return [0, 0, 0, 0];
    return [...[0, 1, 2].map((i) => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / alpha), alpha];
  };
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const canvas = [255, 255, 255, 1];
  const behind = kept((element, around) => over(parse(styleOf(element).backgroundColor), around || canvas));
  const faded = kept((element, around) => Number(styleOf(element).opacity) * (around ?? 1));
  const judge = (element, color, background, text) => {
    const ink = [color[0], color[1], color[2], color[3] * faded(element)];
    const found = ratio(over(ink, background), background);
    if (found < 4.5) findings.push(`contrast ${found.toFixed(2)} of ${named(element)} '${shorten(text)}'`);
  };

  const inked = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (inked.nextNode()) {
    const element = inked.currentNode.parentElement;
    if (!inked.currentNode.data.trim() || element.closest("svg, script, style, noscript, template") || !shown(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(inked.currentNode);
    if (![...range.getClientRects()].some((box) => box.width > 1 && box.height > 1)) continue;
    judge(element, parse(styleOf(element).color), behind(element), inked.currentNode.data);
  }
  for (const field of document.querySelectorAll("input[placeholder]")) {
    if (shown(field)) judge(field, parse(getComputedStyle(field, "::placeholder").color), behind(field), field.placeholder);
  }

  // --- diagrams: each text stands out from the box that it is in, and nothing is cut off
  for (const diagram of document.querySelectorAll(".diagram svg")) {
    const frame = diagram.viewBox.baseVal;
    const boxes = [...diagram.querySelectorAll("rect")];
    const holds = (box, point) => point.x >= box.x && point.x <= box.x + box.width && point.y >= box.y && point.y <= box.y + box.height;
    for (const drawn of diagram.querySelectorAll("rect, text")) {
      const box = drawn.getBBox();
      if (box.x < frame.x || box.y < frame.y || box.x + box.width > frame.x + frame.width || box.y + box.height > frame.y + frame.height)
        findings.push(`the diagram cuts off '${shorten(drawn.textContent) || named(drawn)}'`);
    }
    for (const text of diagram.querySelectorAll("text")) {
      const box = text.getBBox();
      const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
      const around = boxes.filter((rect) => holds(rect.getBBox(), middle)).pop();
      if (!around) {
        findings.push(`the diagram has nothing behind '${shorten(text.textContent)}'`);
        continue;
      }
      const outer = around.getBBox();
      if (box.x < outer.x || box.x + box.width > outer.x + outer.width)
        findings.push(`the diagram's box is too small for '${shorten(text.textContent)}'`);
      judge(text, parse(getComputedStyle(text).fill), parse(getComputedStyle(around).fill), text.textContent);
    }
  }
  return [...new Set(findings)];
}
