// Run Benchmarks: models as chips, files dropped anywhere on the page, and Start that knows what is missing.
(() => {
  const { one, all, say, actions } = window.proctor;
  const form = () => one("#run-form");

  // Models: the chips are what is sent, the ticks of the list follow them.
  const names = () => all("#chosen .model-chip").map((chip) => chip.dataset.model);
  function add(model) {
    const most = Number(form().dataset.mostModels);
    if (names().includes(model)) return true;
    if (names().length >= most) { say(`${most} models may be started at once.`); return false; }
    const chip = one("#model-chip").content.firstElementChild.cloneNode(true);
    const [provider, name] = [model.slice(0, model.indexOf("/") + 1), model.slice(model.indexOf("/") + 1)];
    chip.dataset.model = model;
    one("input", chip).value = model;
    one(".text-secondary", chip).textContent = provider;
    one(".model-chip-name", chip).append(name);
    one("button", chip).setAttribute("aria-label", `Leave out ${model}`);
    one("#chosen").append(chip);
    return true;
  }
  function drop(model) {
    for (const chip of all("#chosen .model-chip")) if (chip.dataset.model === model) chip.remove();
  }
  function tick() {
    const chosen = new Set(names());
    for (const box of all("input[data-model]")) box.checked = chosen.has(box.dataset.model);
  }
  const replan = () => form().dispatchEvent(new Event("change", { bubbles: true }));
  actions.drop_model = (button) => {
    drop(button.closest(".model-chip").dataset.model);
    tick();
    replan();
    one("#f-model-search")?.focus();
  };
  // Before the plan hears of the change, the chip must be there.
  document.addEventListener("change", (e) => {
    const box = e.target;
    if (!box.matches("input[data-model]")) return;
    if (box.checked) box.checked = add(box.dataset.model); else drop(box.dataset.model);
  }, true);

  // The list narrows to what is typed; Enter takes the one that is left, or what was typed itself.
  function narrow() {
    const box = one("#f-model-search");
    if (!box) return;
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of all(".offer-one")) row.hidden = !words.every((word) => row.dataset.words.includes(word));
    for (const offer of all(".offer")) {
      const rows = all(".offer-one", offer);
      offer.hidden = words.length > 0 && rows.length > 0 && rows.every((row) => row.hidden);
    }
  }
  document.addEventListener("keydown", (e) => {
    if (e.target.id !== "f-model-search") return;
    if (e.key === "Escape") { e.target.value = ""; narrow(); e.target.blur(); return; }
    if (e.key !== "Enter") return;
    e.preventDefault();
    const typed = e.target.value.trim();
    const exact = all(".offer-one").filter((row) => row.dataset.words === typed.toLowerCase());
    const shown = all(".offer-one").filter((row) => !row.hidden);
    const found = exact[0] ?? (shown.length === 1 ? shown[0] : undefined);
    const model = found ? one("input", found).dataset.model : typed;
    if (!/^[a-z]+\/.+/.test(model)) { say("Write PROVIDER/NAME, such as ollama/mistral."); return; }
    if (!add(model)) return;
    e.target.value = "";
    narrow(); tick(); replan();
  });

  // What is typed into the search changes no plan: htmx listens on the form above.
  function quiet() {
    const box = one("#f-model-search");
    for (const kind of ["input", "change"]) {
      box?.addEventListener(kind, (e) => { e.stopPropagation(); if (kind === "input") narrow(); });
    }
  }

  // Start is off while something is missing; what it is stands above it, and beside the field that it is said of.
  function state() {
    const place = one("#start-state"), start = one("#start");
    if (!place || !start) return;
    start.disabled = place.dataset.ready === "no";
    for (const old of all("[data-told]")) old.remove();
    for (const field of all("#run-form .is-invalid")) { field.classList.remove("is-invalid"); field.removeAttribute("aria-invalid"); }
    for (const each of all("[data-field]", place)) {
      const field = document.getElementById(`f-${each.dataset.field}`);
      if (!field?.closest(".advanced") || !field.matches("input, select, textarea")) continue;
      field.classList.add("is-invalid");
      field.setAttribute("aria-invalid", "true");
      field.closest("details").open = true;
      const told = document.createElement("div");
      told.className = "invalid-feedback";
      told.id = `e-${each.dataset.field}`;
      told.dataset.told = "yes";
      told.textContent = one(".missing-words", each).textContent.replace(/^[^:]*: /, "");
      one(`#e-${CSS.escape(each.dataset.field)}`)?.remove();
      field.after(told);
      field.setAttribute("aria-describedby", told.id);
    }
  }
  const ofPlan = (e) => e.detail.elt?.id === "plan" || e.target.id === "plan";
  document.addEventListener("htmx:beforeRequest", (e) => {
    if (!ofPlan(e)) return;
    one("#plan").setAttribute("aria-busy", "true");
    one("#plan-working").textContent = "Working out the plan";
  });
  document.addEventListener("htmx:afterRequest", (e) => {
    if (!ofPlan(e)) return;
    one("#plan")?.removeAttribute("aria-busy");
    const words = one("#plan-working");
    if (words) words.textContent = "";
  });

  // Another data set: its first rows come in place.
  document.addEventListener("change", (e) => {
    if (!e.target.matches("[data-previews]")) return;
    const id = e.target.selectedOptions[0]?.dataset.id ?? e.target.value, place = one("#file-piece");
    if (id) htmx.ajax("GET", `/runs/new/file/${id}`, { target: place, swap: "innerHTML" }); else place.replaceChildren();
  });
  document.addEventListener("htmx:afterSwap", (e) => {
    if (e.target.id === "plan") state();
    if (e.target.id === "file-piece") document.body.dispatchEvent(new Event("replan"));
    if (e.target.matches?.(".offer")) { tick(); narrow(); }
  });
  document.addEventListener("htmx:afterSettle", (e) => {
    if (e.target.id === "run-form") wire();
    if (e.target.id === "plan") state();
  });

  // Files: dropped anywhere on the page, or chosen. What has come is chosen in the form that fits it.
  const carried = ["priority"];
  let sending;
  function words(loaded, total) {
    const MB = 1e6;
    return loaded < total ? `${(loaded / MB).toFixed(1)} of ${(total / MB).toFixed(1)} MB` : "It has come. Its lines are being checked.";
  }
  function upload(files) {
    if (!files.length || sending) return;
    const body = new FormData(), place = one("#upload-progress"), bar = one("#upload-bar");
    const project = one("[name=project]", form());
    if (project) body.append("project", project.value);
    for (const file of files) body.append("file", file);
    one("#upload-said").replaceChildren();
    sending = new XMLHttpRequest();
    place.hidden = false;
    place.setAttribute("aria-busy", "true");
    document.body.classList.add("htmx-request");
    sending.upload.addEventListener("progress", (e) => {
      bar.max = e.total; bar.value = e.loaded;
      one("#upload-words").textContent = words(e.loaded, e.total);
    });
    const ended = (problem) => {
      sending = undefined;
      place.hidden = true;
      one("#f-file").value = "";
      document.body.classList.remove("htmx-request");
      if (!problem) return;
      const notice = document.createElement("div");
      notice.className = "notice notice-bad mt-2";
      notice.setAttribute("role", "alert");
      notice.textContent = problem;
      one("#upload-said").replaceChildren(notice);
    };
    sending.addEventListener("load", () => {
      const to = sending.getResponseHeader("HX-Redirect"), html = sending.responseText;
      const page = (sending.getResponseHeader("Content-Type") || "").startsWith("text/html");
      if (to) { ended(); go(to); } else if (page) { ended(); one("#upload-said").innerHTML = html; } else ended(html.slice(0, 300) || "The server gave no answer.");
    });
    sending.addEventListener("error", () => ended("The connection broke before all of the file had come. Nothing of it was kept: drop it again."));
    sending.open("POST", "/runs/new/file");
    sending.setRequestHeader("HX-Request", "true");
    sending.send(body);
  }
  // The form that fits, with the models and what else was chosen already.
  function go(to) {
    const address = new URL(to, location.href);
    if (address.origin !== location.origin) return;
    if (address.pathname !== "/runs/new") { location.href = to; return; }
    for (const model of names()) address.searchParams.append("models", model);
    for (const name of carried) {
      const field = one(`[name=${name}]`, form());
      if (field?.value) address.searchParams.set(name, field.value);
    }
    const path = address.pathname + address.search;
    htmx.ajax("GET", path, { target: "#run-form", select: "#run-form", swap: "outerHTML" }).then(() => {
      address.searchParams.delete("came");
      history.replaceState(history.state, "", address.pathname + address.search);
    });
  }
  // A file that was chosen changes no plan before it has come: the form hears nothing of it.
  for (const kind of ["input", "change"]) {
    document.addEventListener(kind, (e) => {
      if (e.target.id !== "f-file") return;
      e.stopPropagation();
      if (kind === "change") upload([...e.target.files]);
    }, true);
  }
  const files = (e) => [...(e.dataTransfer?.types ?? [])].includes("Files");
  document.addEventListener("dragover", (e) => {
    if (!files(e) || !one("#f-file")) return;
    e.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (e) => { if (!e.relatedTarget) document.body.classList.remove("dropping"); });
  // Before app.js puts a dropped file into its field: here it is sent at once, wherever it was dropped.
  document.addEventListener("drop", (e) => {
    document.body.classList.remove("dropping");
    if (!files(e) || !one("#f-file")) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    upload([...e.dataTransfer.files]);
  }, true);

  // A suite's own tasks alone are shown and sent.
  function fit() {
    const suite = one("#run-form select[name=suite]")?.value;
    for (const part of all("[data-suite]")) {
      part.hidden = part.dataset.suite !== suite;
      for (const field of all("input", part)) field.disabled = part.hidden;
    }
  }
  document.addEventListener("change", (e) => { if (e.target.matches("#run-form select[name=suite]")) fit(); }, true);
  // What stands in for scripts is markup like any other where htmx has brought it.
  function plain() { for (const each of all("#run-form noscript")) each.remove(); }
  function wire() { plain(); fit(); quiet(); tick(); narrow(); state(); }
  document.addEventListener("DOMContentLoaded", wire);
})();
