// Sends the upload form of the data sets page itself, so that one sees how much of a large file has come. Without this
// script the browser sends the form, and the page says the same once all of it is there.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("#upload-form");
  if (!form) return;
  const place = document.querySelector("#upload-progress");
  const bar = document.querySelector("#upload-bar");
  const words = document.querySelector("#upload-words");
  const said = document.querySelector("#upload-said");
  const button = form.querySelector("button.btn-primary");
  const MB = 1e6;
  let sending;

  function started(on) {
    place.hidden = !on;
    button.disabled = on;
    if (!on) sending = undefined;
  }

  function progress(loaded, total, since) {
    bar.max = total;
    bar.value = loaded;
    const seconds = (performance.now() - since) / 1000;
    const speed = seconds > 0.5 ? `, ${(loaded / MB / seconds).toFixed(1)} MB/s` : "";
    words.textContent = loaded < total
      ? `${(loaded / MB).toFixed(1)} of ${(total / MB).toFixed(1)} MB${speed}`
      : `All ${(total / MB).toFixed(1)} MB have come. Its lines are being checked.`;
  }

  function told(html) {
    said.innerHTML = html;
    said.scrollIntoView({ block: "nearest" });
  }

  form.addEventListener("submit", (e) => {
    e.preventDefault();
    if (sending) return;
    sending = new XMLHttpRequest();
    const since = performance.now();
    said.replaceChildren();
    started(true);
    words.textContent = "Sending";
    sending.upload.addEventListener("progress", (e) => progress(e.loaded, e.total, since));
    sending.addEventListener("load", () => {
      const to = sending.getResponseHeader("HX-Redirect");
      if (to) { location.href = to; return; }
      const html = (sending.getResponseHeader("Content-Type") || "").startsWith("text/html");
      const text = sending.responseText;
      started(false);
      if (html) told(text); else failed(text.slice(0, 300) || "The server gave no answer.");
    });
    for (const kind of ["error", "timeout"]) {
      sending.addEventListener(kind, () => {
        started(false);
        failed("The connection broke before all of the file had come. Nothing of it was kept: upload it again.");
      });
    }
    sending.addEventListener("abort", () => { started(false); failed("Cancelled. Nothing of the file was kept."); });
    sending.open("POST", form.action);
    sending.setRequestHeader("HX-Request", "true");
    sending.send(new FormData(form));
  });

  function failed(text) {
    const notice = document.createElement("div");
    notice.className = "notice notice-bad";
    notice.setAttribute("role", "alert");
    notice.textContent = text;
    said.replaceChildren(notice);
  }

  document.querySelector("#upload-cancel").addEventListener("click", () => sending?.abort());
});
