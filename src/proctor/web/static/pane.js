// A list with one of its rows open beside it: j and k go on, x ticks, Enter opens the whole page, Escape closes.
// What is open stands in the address, so that a reload and a copied link show the same.
(() => {
  const { one, all, say, actions, keys } = window.proctor;
  const MOST_TICKED = 190;
  const pane = () => one("#pane");
  const rows = () => all("#rows [data-row]");
  const open = () => one("#rows [data-row][aria-current]");
  const link = (row) => one("[data-open]", row);
  const isOpen = () => Boolean(one("[data-split].split-open"));
  let now = null;  // which row is open, by its name in the address
  let asked = 0;  // the last thing asked for: an answer that comes later than the next key press is dropped

  // Which row an address has open.
  function named(address) {
    const told = new URL(address, location.href).searchParams;
    return told.get("at") === null ? null : `${told.get("at")}\n${told.get("repeat") ?? "0"}`;
  }
  function without(address) {
    const url = new URL(address, location.href);
    for (const name of ["at", "repeat", "attempt", "beside"]) url.searchParams.delete(name);
    return url.pathname + url.search;
  }
  function mark(row) {
    for (const each of rows()) if (each !== row) each.removeAttribute("aria-current");
    row?.setAttribute("aria-current", "true");
  }
  // The list is not to be seen where the pane covers it; then the pane takes the focus.
  function focusOn(row) {
    if (row && link(row).offsetParent !== null) {
      link(row).focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    } else pane().focus({ preventScroll: true });
  }

  function show(row, history_) {
    const split = one("[data-split]"), was = split.classList.contains("split-open"), number = ++asked;
    split.classList.add("split-open");
    pane().hidden = false;
    now = named(row.dataset.pane);
    mark(row);
    if (history_ !== "keep") {
      const state = { pane: true };
      if (was || history_ === "replace") history.replaceState({ ...history.state, ...state }, "", row.dataset.pane);
      else history.pushState(state, "", row.dataset.pane);
    }
    focusOn(row);
    return bring(row.dataset.pane, number);
  }
  function bring(address, number) {
    const target = pane();
    target.setAttribute("aria-busy", "true");
    return htmx.ajax("GET", address, { source: target, target, swap: "innerHTML" }).finally(() => {
      if (number !== asked) return;
      target.removeAttribute("aria-busy");
      target.scrollTop = 0;
    });
  }
  document.addEventListener("htmx:beforeSwap", (e) => {
    if (e.target !== pane()) return;
    const path = e.detail.pathInfo?.requestPath ?? "";
    if (now !== null && named(path) !== null && named(path) !== now) e.detail.shouldSwap = false;
  });

  function close(history_) {
    const row = open();
    now = null;
    asked += 1;
    one("[data-split]")?.classList.remove("split-open");
    if (pane()) pane().hidden = true;
    mark(null);
    if (history_ !== "keep") history.replaceState({ ...history.state, pane: false }, "", without(location.href));
    if (row) { link(row).focus({ preventScroll: true }); row.scrollIntoView({ block: "nearest" }); }
  }

  // Beyond the last row lies the next page, before the first the one before; its nearest row is opened.
  function step(by) {
    const listed = rows(), at = listed.indexOf(open());
    if (!listed.length) return false;
    const to = at < 0 ? (by > 0 ? 0 : listed.length - 1) : at + by;
    if (listed[to]) { show(listed[to]); return true; }
    // Lists that cannot be turned back by an address go back to where one came from.
    const more = one(by > 0 ? "#rows a#next" : "#rows a#previous")?.getAttribute("href") ?? (by < 0 ? left.pop() : undefined);
    if (!more) { say(by > 0 ? "This is the last row." : "This is the first row."); return true; }
    if (by > 0) left.push(without(location.href));
    turn(more, by);
    return true;
  }
  const left = [];
  let turning = false;
  function turn(address, by) {
    if (turning) return;
    turning = true;
    htmx.ajax("GET", address, { source: one("#rows"), target: "#rows", swap: "innerHTML" }).then(() => {
      turning = false;
      const listed = rows(), row = by > 0 ? listed[0] : listed[listed.length - 1];
      if (row) show(row, "replace");
      else { close("keep"); history.replaceState(history.state, "", address); }
    }, () => { turning = false; });
  }

  // Ticked rows stay ticked over pages; those on other pages go along as hidden fields.
  const ticked = new Map();
  function tally() {
    const form = one("[data-ticks]");
    if (!form) return;
    for (const box of all("#rows [data-tick]")) box.checked = ticked.has(box.value);
    const here = new Set(all("#rows [data-tick]").map((box) => box.value));
    for (const old of all("input[data-elsewhere]", form)) old.remove();
    for (const value of ticked.keys()) {
      if (here.has(value)) continue;
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "pick", value });
      field.dataset.elsewhere = "";
      form.append(field);
    }
    form.hidden = ticked.size === 0;
    one("[data-tick-count]", form).textContent = `${ticked.size} ticked`;
    one("[name=back]", form).value = new URL(without(location.href), location.href).search;
  }
  function tick(box, on) {
    if (on && ticked.size >= MOST_TICKED) { box.checked = false; say(`At most ${MOST_TICKED} rows at once; export the filter for more.`); return; }
    if (on) ticked.set(box.value, true); else ticked.delete(box.value);
    tally();
  }
  document.addEventListener("change", (e) => { if (e.target.matches?.("#rows [data-tick]")) tick(e.target, e.target.checked); });

  Object.assign(actions, {
    pane_next() { step(1); },
    pane_before() { step(-1); },
    pane_untick() { ticked.clear(); tally(); },
  });
  Object.assign(keys, {
    j: () => Boolean(one("[data-split]")) && step(1),
    k: () => Boolean(one("[data-split]")) && step(-1),
    x() {
      const box = one("[data-tick]", open() ?? document.activeElement?.closest?.("[data-row]") ?? document.createElement("i"));
      if (!box) return false;
      tick(box, !box.checked);
      return true;
    },
    Escape: () => { if (!isOpen()) return false; close(); return true; },
    Enter(e) {
      const row = open();
      if (!row || e.target.closest("summary, button, a:not([data-open])")) return false;
      location.href = link(row).href;
      return true;
    },
  });
  // A box that was ticked by hand keeps the focus; the keys go on from there all the same.
  document.addEventListener("keydown", (e) => {
    if (!e.target.matches?.("#rows [data-tick]") || e.ctrlKey || e.metaKey || e.altKey) return;
    if (["j", "k", "x", "Escape"].includes(e.key) && keys[e.key](e)) e.preventDefault();
  });

  document.addEventListener("click", (e) => {
    if (e.defaultPrevented || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    if (e.target.closest("[data-pane-close]") && one("[data-split]")) { e.preventDefault(); close(); return; }
    const row = e.target.closest("#rows [data-row]");
    if (!row || e.target.closest("input, label, button, summary, a:not([data-open])")) return;
    if (String(window.getSelection())) return;  // words are being marked, to be copied
    e.preventDefault();
    show(row);
  });

  // Back and forward: what htmx put into the history it brings back itself, with the whole page.
  window.addEventListener("popstate", (e) => {
    if (e.state?.htmx || !one("[data-split]")) return;
    const name = named(location.href);
    const row = rows().find((each) => named(each.dataset.pane) === name);
    if (name === null) close("keep");
    else if (row) show(row, "keep");
    else location.reload();
  });
  // Other rows: what was open stays marked if it is among them, else nothing is open any more.
  document.addEventListener("htmx:afterSwap", (e) => {
    if (e.target.id !== "rows") return;
    tally();
    if (turning || !isOpen()) return;
    const row = rows().find((each) => named(each.dataset.pane) === now);
    if (row) mark(row); else close("keep");
  });
  document.addEventListener("htmx:afterSettle", (e) => {
    // htmx has put the list's new address down by now; what is open belongs into it.
    if (e.target.id === "rows" && !turning && open()) history.replaceState(history.state, "", open().dataset.pane);
    // Who labels many goes on by itself, in the pane as on a page of its own.
    if (e.target.id === "label-panel" && isOpen() && e.detail.requestConfig?.verb === "post" && localStorage.getItem("advance") === "1") step(1);
  });
  function wire() {
    if (!one("[data-split]")) return;
    document.documentElement.classList.add("scripts");
    for (const box of all("#rows [data-tick]:checked")) ticked.set(box.value, true);
    tally();
    now = isOpen() ? named(location.href) : null;
    if (open()) focusOn(open());
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", wire); else wire();
  document.addEventListener("htmx:historyRestore", wire);
  window.addEventListener("pageshow", (e) => { if (e.persisted) wire(); });
})();
