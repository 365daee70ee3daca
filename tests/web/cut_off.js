() => {
  const found = [];
  const seen = (e) => { const s = getComputedStyle(e); return s.visibility !== "hidden" && s.clipPath === "none" && e.getClientRects().length > 0; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.textContent.trim() || node.parentElement.closest("script, style, option, canvas, svg, .visually-hidden, .term-says, dialog:not([open])")) continue;
    if (!seen(node.parentElement)) continue;
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((r) => r.width > 1);
    for (let box = node.parentElement; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.overflowX === "visible" || style.overflowX === "auto" || style.overflowX === "scroll") { if (style.overflowX !== "visible") break; continue; }
      if (style.textOverflow === "ellipsis" || box.clientWidth < 2) break;
      const edge = box.getBoundingClientRect();
      if (boxes.some((r) => r.right > edge.left + box.clientLeft + box.clientWidth + 1.5 && r.left < edge.right)) {
        found.push(`${box.tagName}.${box.className}: ${node.textContent.trim().slice(0, 50)}`);
        break;
      }
    }
  }
  for (const field of document.querySelectorAll("select")) {
    if (field.clientWidth && field.scrollWidth > field.clientWidth + 1 && getComputedStyle(field).textOverflow !== "ellipsis") found.push(`SELECT ${field.name}: ${field.selectedOptions[0]?.textContent.trim()}`);
  }
  return found;
}
