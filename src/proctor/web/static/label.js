// Labelling without losing anything: a grade that the server did not take is kept in the browser and sent again.
(() => {
  const STORE = "labels-unsaved", AGAIN_MS = 3000;
  const one = (selector) => document.querySelector(selector);
  const kept = () => JSON.parse(localStorage.getItem(STORE) ?? "[]");
  let timer, sending = false;

  function keep(list) {
    if (list.length) localStorage.setItem(STORE, JSON.stringify(list)); else localStorage.removeItem(STORE);
    const bar = one("#label-unsaved"), last = list[list.length - 1];
    if (!bar) return;
    bar.hidden = !last;
    one("#label-unsaved-words").textContent = last
      ? `The server does not answer. ${list.length === 1 ? `Your “${said(last.values)}” is` : `${list.length} labels are`} kept in this browser and sent again by itself.`
      : "";
    clearTimeout(timer);
    if (last) timer = setTimeout(again, AGAIN_MS);
  }
  const said = (values) => String(values.grade ?? "").split(":").pop() || "note";
  const same = (a, b) => a.path === b.path && a.values.key === b.values.key;

  // The first that waits; what comes back is the page's next entry.
  function again() {
    const [first] = kept();
    if (!first || sending || !one("#labelling")) return;
    sending = true;
    htmx.ajax("POST", first.path, { target: "#labelling", swap: "outerHTML settle:0", values: first.values })
      .finally(() => { sending = false; if (kept().length) keep(kept()); });
  }

  const isLabel = (config) => config?.verb === "post" && config.path?.startsWith("/label?");
  function asKept(config) {
    const values = config.formData instanceof FormData ? Object.fromEntries(config.formData) : { ...config.parameters };
    return { path: config.path, values };
  }
  // Kept before it is sent, so that neither a closed tab nor a log-in in between loses it.
  document.addEventListener("htmx:beforeRequest", (e) => {
    const config = e.detail.requestConfig;
    if (!isLabel(config)) return;
    const mine = asKept(config);
    localStorage.setItem(STORE, JSON.stringify([...kept().filter((each) => !same(each, mine)), mine]));
  });
  // What comes back is an entry, or the grade was not taken: then the page stays as it is.
  document.addEventListener("htmx:beforeSwap", (e) => {
    if (e.detail.target?.id === "labelling" && !e.detail.xhr.responseText.includes('id="labelling"')) e.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterRequest", (e) => {
    const config = e.detail.requestConfig;
    if (!isLabel(config)) return;
    const mine = asKept(config), taken = e.detail.xhr.status === 200 && e.detail.xhr.responseText.includes('id="labelling"');
    keep(taken ? kept().filter((each) => !same(each, mine)) : kept());
  });
  // The focus would fall back to the page's top, and nothing would be read out.
  document.addEventListener("htmx:afterSwap", (e) => {
    const place = one("#labelling"), about = (selector) => one(selector)?.textContent.replace(/\s+/g, " ").trim() ?? "";
    if (!place) return;
    if (e.detail.elt?.id === "worth" || e.target.id === "worth") {
      one("#label-said").textContent += ` ${about("#worth")}`;
      return;
    }
    place.focus({ preventScroll: true });
    window.scrollTo({ top: 0 });
    one("#label-said").textContent = [place.dataset.said, `${about("#label-title")}.`].filter(Boolean).join(" ");
  });
  document.addEventListener("click", (e) => { if (e.target.id === "label-again") again(); });
  document.addEventListener("DOMContentLoaded", () => { if (kept().length) { keep(kept()); again(); } });
})();
