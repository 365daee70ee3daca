// What pages do in the browser beyond htmx: theme, menu, keyboard, live refresh, selections, words said once.
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // A breach of the content security policy is a defect; tests read this list.
  window.breaches = [];
  document.addEventListener("securitypolicyviolation", (e) =>
    window.breaches.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));

  // One listener for all buttons, so that pieces that htmx brings need no wiring.
  const actions = {
    theme() {
      const dark = document.documentElement.dataset.bsTheme !== "dark";
      document.documentElement.dataset.bsTheme = dark ? "dark" : "light";
      localStorage.setItem("theme", dark ? "dark" : "light");
      window.dispatchEvent(new Event("themechange"));
    },
    menu(button) {
      const open = one("#menu").classList.toggle("show");
      button.setAttribute("aria-expanded", String(open));
    },
    help() { one("#help").showModal(); },
    close(button) { button.closest("dialog").close(); },
    copy(button) { put(one(button.dataset.from).textContent).then((done) => say(done ? "Copied." : NOT_COPIED)); },
    copy_link() {
      put(location.href).then((done) => say(done ? "The link to this page was copied." : NOT_COPIED));
    },
    copy_shared() {
      const field = one("#shared-link");
      put(field.value).then((done) => {
        field.select();
        one("#shared-said").textContent = done ? "The link was copied. It is not shown again." : "Copy the marked link with Ctrl+C: it is not shown again.";
      });
    },
    say_hide() { one("#said").hidden = true; },
  };
  document.addEventListener("click", (e) => {
    const button = e.target.closest("[data-do]");
    if (button) actions[button.dataset.do]?.(button);
  });

  // The clipboard is open to pages that came encrypted or from this machine, and after a press alone.
  const NOT_COPIED = "The browser lets this page copy nothing: copy it from the address bar.";
  async function put(text) {
    try { await navigator.clipboard.writeText(text); return true; } catch { return false; }
  }
  // A link that was made is shown where it can be copied again, and is on the clipboard already.
  document.addEventListener("htmx:afterSwap", (e) => {
    if (e.target.id !== "share-made") return;
    for (const menu of all("details.menu[open]")) menu.open = false;
    one("#shared-dialog").showModal();
    if (one("#shared-link", e.target)) actions.copy_shared();
  });
  // A menu closes when something else is meant.
  document.addEventListener("click", (e) => {
    for (const menu of all("details.menu[open]")) if (!menu.contains(e.target)) menu.open = false;
  });
  document.addEventListener("keydown", (e) => {
    const menu = e.key === "Escape" && e.target.closest?.("details.menu[open]");
    if (menu) { menu.open = false; one("summary", menu).focus(); }
  });

  // A form that destroys something asks first.
  document.addEventListener("submit", (e) => {
    const question = e.target.dataset.confirm;
    if (question && !window.confirm(question)) { e.preventDefault(); e.stopImmediatePropagation(); }
  }, true);

  // A file that is dropped beside the field, on its frame, is meant for the field; the browser would open it.
  const frame = (e) => e.target.closest?.(".drop");
  document.addEventListener("dragover", (e) => { if (frame(e)) e.preventDefault(); });
  document.addEventListener("drop", (e) => {
    const field = frame(e) && one("input[type=file]", frame(e));
    if (!field || e.target === field) return;
    e.preventDefault();
    field.files = e.dataTransfer.files;
  });

  function say(text) {
    const place = one("#said");
    if (!place || !text) return;
    one("#said-text").textContent = text;
    place.hidden = false;
  }
  function saidOnce() {
    const found = document.cookie.split("; ").find((part) => part.startsWith("said="));
    if (!found) return;
    document.cookie = "said=; Max-Age=0; path=/; SameSite=Strict";
    say(decodeURIComponent(found.slice(5)));
  }

  // Live pieces: `data-live` is the address of the piece, `data-events` of a stream that says when it changed.
  // The reader chooses between the stream and looking every few seconds.
  let stream, timer, waiting = false, missed = false;
  // What changed while a look was under way may not be in it, and of an end no other event comes: it is looked at again.
  function refresh(place) {
    if (waiting) { missed = true; return; }
    waiting = true;
    htmx.ajax("GET", place.dataset.live, { target: place, swap: "innerHTML" }).finally(() => {
      waiting = false;
      if (missed && place.dataset.ended !== "true") refresh(place);
      missed = false;
    });
  }
  // What the reader has unfolded or folded stays so where a live piece brings it again.
  let folds = new Map();
  document.addEventListener("htmx:beforeSwap", (e) => {
    if (e.target.matches?.("[data-live]")) folds = new Map(all("details[id]", e.target).map((each) => [each.id, each.open]));
  });
  document.addEventListener("htmx:afterSwap", (e) => {
    if (!e.target.matches?.("[data-live]")) return;
    for (const each of all("details[id]", e.target)) if (folds.has(each.id)) each.open = folds.get(each.id);
  });
  function follow() {
    stream?.close(); clearInterval(timer); stream = timer = undefined;
    const place = one("[data-live]");
    if (!place || place.dataset.ended === "true") return;
    const choice = one("#refresh")?.value ?? "live";
    if (choice === "live" && place.dataset.events) {
      stream = new EventSource(place.dataset.events);
      stream.addEventListener("changed", () => refresh(place));
      stream.addEventListener("end", () => { stream.close(); refresh(place); });
      stream.addEventListener("ended", () => document.dispatchEvent(new Event("stream:ended")));
      // Where streams are not let through, look now and then instead.
      stream.onerror = () => { stream.close(); timer ??= setInterval(() => refresh(place), 2000); };
    } else {
      timer = setInterval(() => refresh(place), 1000 * (Number(choice) || Number(place.dataset.every) || 5));
    }
  }
  document.addEventListener("change", (e) => { if (e.target.id === "refresh") follow(); });
  document.addEventListener("htmx:afterSwap", (e) => {
    if (e.target.matches?.("[data-live]") && one("[data-ended]", e.target)) {
      e.target.dataset.ended = "true";
      clearInterval(timer); stream?.close();
      // The figures of a run that has ended are on the whole page, not in the live piece alone.
      if (one("[data-reload]", e.target)) location.reload();
    }
  });
  window.addEventListener("pagehide", () => { stream?.close(); clearInterval(timer); });

  // Rows to be compared: the button counts them and carries their ids.
  // What is ticked stays so where a live piece brings the same rows again.
  const ticked = new Set();
  function countPicked() {
    const link = one("#compare-picked");
    if (!link) return;
    for (const box of all("input[data-pick]")) if (ticked.has(box.value)) box.checked = true; else if (box.checked) ticked.add(box.value);
    const picked = all("input[data-pick]:checked").map((box) => box.value);
    link.href = (link.dataset.base ?? "/compare") + "?" + picked.map((id) => "runs=" + encodeURIComponent(id)).join("&");
    link.classList.toggle("disabled", picked.length < 2);
    link.setAttribute("aria-disabled", String(picked.length < 2));
    one("#picked-count").textContent = picked.length;
  }
  document.addEventListener("change", (e) => { 
    if (!e.target.matches("input[data-pick]")) return;
    if (e.target.checked) ticked.add(e.target.value); else ticked.delete(e.target.value);
    countPicked();
  });
  // Other rows have other boxes.
  document.addEventListener("htmx:afterSwap", countPicked);

  // Fields that belong to some providers only.
  function fitProvider() {
    const chosen = one("select[name=provider]");
    if (!chosen) return;
    for (const part of all("[data-for]")) {
      const fits = part.dataset.for.split(" ").includes(chosen.value)
        || (part.dataset.for === "others" && !["ollama"].includes(chosen.value));
      part.hidden = !fits;
      for (const field of all("input, textarea, select", part)) field.disabled = !fits;
    }
    const suite = one("select[name=suite]")?.value;
    for (const part of all("[data-suite]")) {
      part.hidden = part.dataset.suite !== suite;
      for (const field of all("input", part)) field.disabled = part.hidden;
    }
  }
  document.addEventListener("change", (e) => { if (e.target.matches("select[name=provider], select[name=suite]")) fitProvider(); });

  // A choice that has fields of its own shows them.
  document.addEventListener("change", (e) => {
    const part = e.target.dataset?.unfolds && one(e.target.dataset.unfolds);
    if (part) part.open = true;
  });

  // Keys of their own, where something is labelled: a button is pressed, a field or a fold is gone to.
  function ownKey(key) {
    const target = all("[data-key]").find((each) => each.dataset.key === key && each.offsetParent !== null);
    if (!target) return false;
    if (target.matches("button")) target.click();
    else if (target.matches("summary")) { target.parentElement.open = true; one(target.dataset.opens)?.focus(); }
    else target.focus();
    return true;
  }
  document.addEventListener("keydown", (e) => {
    const field = e.target.closest("[data-labels] textarea, [data-labels] input");
    if (!field) return;
    if (e.key === "Escape") field.blur();
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey || field.matches("input:not([type=checkbox])"))) {
      e.preventDefault();
      (field.closest("details")?.querySelector("button") ?? one("[data-keeps]", field.form)).click();
      field.blur();  // else the panel that comes back would have the focus in it, and the next key be text
    }
  });
  // Whoever labels many goes on by itself; the browser remembers it.
  document.addEventListener("change", (e) => {
    if (e.target.matches("[data-advance]")) localStorage.setItem("advance", e.target.checked ? "1" : "");
  });
  function recallAdvance() { for (const box of all("[data-advance]")) box.checked = localStorage.getItem("advance") === "1"; }
  document.addEventListener("htmx:afterSwap", (e) => {
    if (!one("#label-panel") || e.detail.requestConfig?.verb !== "post") return;
    recallAdvance();
    if (localStorage.getItem("advance") === "1") one("a[data-next]")?.click();
  });

  // Arrows go from cell to cell of a grid: left and right in its order, up and down to the nearest in the next line.
  function inGrid(from, key) {
    const grid = from.matches("a.trial") && from.closest("[data-grid]");
    if (!grid) return false;
    const cells = all("a.trial", grid), at = cells.indexOf(from), box = (cell) => cell.getBoundingClientRect();
    let to = { ArrowRight: cells[at + 1], ArrowLeft: cells[at - 1] }[key];
    if (key === "ArrowDown" || key === "ArrowUp") {
      const down = key === "ArrowDown", here = box(from);
      const beyond = cells.filter((cell) => down ? box(cell).top >= here.bottom : box(cell).bottom <= here.top);
      const far = (cell) => 1000 * Math.abs(box(cell).top - here.top) + Math.abs(box(cell).left - here.left);
      to = beyond.sort((a, b) => far(a) - far(b))[0];
    }
    to?.focus();
    return true;
  }

  // Keyboard: / search, g then a letter to a page, j and k between items, ? help.
  const pages = { o: "/", n: "/runs/new", c: "/compare", r: "/runs", l: "/leaderboard", m: "/models", q: "/system", a: "/rollouts" };
  // Keys of a screen's own script: a function that returns true where it took the key.
  const keys = {};
  let went = 0;
  document.addEventListener("keydown", (e) => {
    if (e.target.closest("input, textarea, select, dialog") || e.ctrlKey || e.metaKey || e.altKey) return;
    if (Date.now() - went < 1500 && pages[e.key]) { location.href = pages[e.key]; return; }
    if (ownKey(e.key)) { e.preventDefault(); return; }
    if (e.key === "g") { went = Date.now(); return; }
    if (e.key === "?") { actions.help(); return; }
    if (e.key === "/") { const box = one("[data-search]"); if (box) { e.preventDefault(); box.focus(); return; } }
    if (e.key.startsWith("Arrow") && inGrid(e.target, e.key)) { e.preventDefault(); return; }
    if (keys[e.key]?.(e)) { e.preventDefault(); return; }
    const link = { j: "a[data-next]", k: "a[data-before]", u: "a[data-up]" }[e.key];
    if (link) one(link)?.click();
  });

  // What the scripts of single screens build on: they add to `actions` (a button's data-do) and to `keys`.
  window.proctor = { one, all, say, actions, keys, refresh, follow };

  // A page that the browser kept, or htmx swapped in, is wired like a new one.
  function wire() { recallAdvance(); fitProvider(); countPicked(); saidOnce(); follow(); }
  document.addEventListener("DOMContentLoaded", wire);
  window.addEventListener("pageshow", (e) => {
    // Going back, a browser puts in the choices that were made last; the address says which ones count. What htmx
    // has changed since is not in a kept page's defaults, but there the form and the address agree already.
    for (const form of all("main form[method=get]")) if (!e.persisted || !form.hasAttribute("hx-get")) form.reset();
    if (e.persisted) wire();
  });
})();
