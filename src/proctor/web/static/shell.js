// Around every page: what a word means, beside it; and the search that opens over any page.
(() => {
  const { one, all, actions, keys } = window.proctor;

  // One box for all words, in the browser's top layer: no table or card that scrolls can cut it off.
  const box = document.createElement("div");
  box.id = "term-box";
  box.setAttribute("popover", "manual");
  box.setAttribute("aria-hidden", "true");  // screen readers have the same words beside the term
  let shown;
  function hide() {
    shown = undefined;
    if (box.matches(":popover-open")) box.hidePopover();
  }
  function show(term) {
    const says = one(".term-says", term);
    if (!says || shown === term) return;
    // A dialog is above the page: what it explains must be inside it.
    (term.closest("dialog") ?? document.body).append(box);
    box.textContent = says.textContent.trim().replace(/^\(|\)$/g, "");
    if (box.matches(":popover-open")) box.hidePopover();
    box.showPopover();
    shown = term;
    const of = term.getBoundingClientRect(), size = box.getBoundingClientRect(), edge = 8;
    const below = of.bottom + size.height + edge < innerHeight;
    box.style.left = `${Math.max(edge, Math.min(of.left, innerWidth - size.width - edge))}px`;
    box.style.top = `${below ? of.bottom + 4 : Math.max(edge, of.top - size.height - 4)}px`;
  }
  if (box.showPopover) {
    document.documentElement.classList.add("has-boxes");
    const term = (e) => e.target.closest?.(".term");
    document.addEventListener("mouseover", (e) => { const of = term(e); if (of) show(of); else if (shown && !shown.matches(":focus")) hide(); });
    document.addEventListener("focusin", (e) => { const of = term(e); if (of) show(of); else hide(); });
    document.addEventListener("click", (e) => { const of = term(e); if (of) show(of); });
    document.addEventListener("focusout", hide);
    document.addEventListener("scroll", hide, { capture: true, passive: true });
    document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
    document.addEventListener("htmx:beforeSwap", hide);
  }

  // The search over any page. Without this script its link leads to the page that does the same.
  const dialog = one("#find");
  if (dialog) {
    actions.find = () => { dialog.showModal(); one("#find-text").select(); };
    one("a[data-do=find]").addEventListener("click", (e) => { if (!e.ctrlKey && !e.metaKey) e.preventDefault(); });
    document.addEventListener("keydown", (e) => {
      if (e.key.toLowerCase() !== "k" || !(e.ctrlKey || e.metaKey) || e.shiftKey || e.altKey) return;
      e.preventDefault();
      if (dialog.open) dialog.close(); else if (!one("dialog[open]")) actions.find();
    });
    dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
    dialog.addEventListener("keydown", (e) => {
      const links = all("a.found", dialog), at = links.indexOf(document.activeElement);
      if (e.key === "ArrowDown") { e.preventDefault(); (links[at + 1] ?? links[0])?.focus(); }
      if (e.key === "ArrowUp") { e.preventDefault(); (at > 0 ? links[at - 1] : one("#find-text")).focus(); }
      // Enter in the field goes to what stands first, once it is there.
      if (e.key === "Enter" && at < 0 && links.length) { e.preventDefault(); links[0].click(); }
    });
    // Where a page has no search of its own.
    keys["/"] = () => { actions.find(); return true; };
  }

  actions.back = () => history.back();
  for (const each of all("[data-scripted]")) each.hidden = history.length < 2;
})();
