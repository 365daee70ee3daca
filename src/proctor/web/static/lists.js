// History: rows by keys, what is cut in full, menus of rows, runs that are ticked, filters that say no more than needed.
(() => {
  const { one, all, actions, keys } = window.proctor;

  // j and k go from row to row, x ticks, Enter opens (the row's link has the focus, so the browser does).
  const links = () => all("a[data-row]");
  const here = () => links().indexOf(document.activeElement?.closest("tr")?.querySelector("a[data-row]"));
  function go(by) {
    const rows = links(), at = here(), to = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
    if (!to) return rows.length > 0;
    to.focus();
    to.scrollIntoView({ block: "nearest" });
    return true;
  }
  keys.j = () => go(1);
  keys.k = () => go(-1);
  keys.x = () => {
    const box = one("input[data-pick]", links()[here()]?.closest("tr") ?? document.createElement("tr"));
    if (!box) return false;
    box.click();
    return true;
  };

  // The whole of what is cut: of the cell under the pointer, or of the row that has the focus.
  const full = document.createElement("div");
  full.className = "full-value";
  full.setAttribute("aria-hidden", "true");  // the row says it all to those who hear it
  full.hidden = true;
  document.body.append(full);
  const whole = (cut) => { if (cut.title) { cut.dataset.whole = cut.title; cut.removeAttribute("title"); } return cut.dataset.whole; };
  function tell(text, box) {
    full.textContent = text;
    full.hidden = !text;
    if (!text) return;
    const own = full.getBoundingClientRect(), below = box.bottom + 4;
    full.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - own.width - 8))}px`;
    full.style.top = `${below + own.height > window.innerHeight ? Math.max(8, box.top - own.height - 4) : below}px`;
  }
  document.addEventListener("mouseover", (e) => {
    const cut = e.target.closest?.(".cut");
    if (cut) tell(whole(cut), cut.getBoundingClientRect()); else if (!full.hidden) full.hidden = true;
  });
  document.addEventListener("focusin", (e) => {
    const row = e.target.matches?.("a[data-row]") && e.target.closest("tr");
    const cuts = row ? all(".cut", row).map(whole) : [];
    if (cuts.length) tell(cuts.join("\n"), e.target.getBoundingClientRect()); else full.hidden = true;
  });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") full.hidden = true; });
  document.addEventListener("scroll", () => { full.hidden = true; }, true);

  // A row's menu opens at its button.
  document.addEventListener("toggle", (e) => {
    if (!e.target.matches?.(".row-menu") || e.newState !== "open") return;
    const button = one(`[popovertarget="${e.target.id}"]`).getBoundingClientRect(), own = e.target.getBoundingClientRect();
    e.target.style.left = `${Math.max(8, button.right - own.width)}px`;
    e.target.style.top = `${button.bottom + own.height + 8 > window.innerHeight ? Math.max(8, button.top - own.height - 4) : button.bottom + 4}px`;
    one("a, button", e.target)?.focus();
  }, true);

  // What is ticked brings the bar with what can be done.
  function picked() { one("#bulk")?.classList.toggle("some", all("input[data-pick]:checked").length > 0); }
  actions.unpick = () => { for (const box of all("input[data-pick]:checked")) box.click(); };
  for (const event of ["change", "htmx:afterSwap"]) document.addEventListener(event, () => setTimeout(picked));
  window.addEventListener("pageshow", picked);

  // Days and dates stand for each other; what is as usual is not said in the address.
  document.addEventListener("change", (e) => {
    const form = e.target.form;
    if (form?.id !== "filters") return;
    if (e.target.name === "days") for (const name of ["from", "to"]) form.elements[name].value = "";
    if (e.target.type === "date" && e.target.value) for (const radio of form.elements.days) radio.checked = radio.value === "";
  }, true);
  function plain(form, data) {
    const columns = data.getAll("columns"), usual = (form.dataset.usual ?? "").split(",");
    data.delete("columns");
    if (columns.join() !== usual.join() && columns.length) data.set("columns", columns.join());
    for (const [name, value] of [...data.entries()]) if (!value) data.delete(name);
  }
  document.addEventListener("htmx:configRequest", (e) => {
    if (e.target.id === "filters") plain(e.target, e.detail.formData);
  });

  // A view that is kept is of what is in the address now; tabs tell where one is.
  document.addEventListener("htmx:pushedIntoHistory", () => {
    const asked = location.search.slice(1), field = one("input[data-address]");
    if (field) field.value = asked;
    for (const tab of all("#views a")) tab.toggleAttribute("aria-current", false);
    const here = all("#views a").find((tab) => new URL(tab.href).search.slice(1) === asked);
    here?.setAttribute("aria-current", "page");
  });

  // A menu closes when something else is pressed.
  document.addEventListener("click", (e) => {
    for (const menu of all("details.menu[open]")) if (!menu.contains(e.target)) menu.open = false;
  });
})();
