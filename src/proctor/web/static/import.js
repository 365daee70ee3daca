// Sends the form that imports official files, so that one sees how much has come. Without this script the browser sends
// it, and the page that follows says the same.
document.addEventListener("DOMContentLoaded", () => {
  const MB = 1e6;
  const said = document.querySelector("#import-said");
  document.querySelectorAll("form[data-import]").forEach((form) => {
    const words = form.querySelector(".import-words");
    const bar = form.querySelector("progress");
    const button = form.querySelector("button");
    let sending;

    function over(text = "") {
      sending = undefined;
      button.disabled = false;
      bar.hidden = true;
      words.textContent = text;
    }

    form.addEventListener("submit", (e) => {
      if (!said) return;
      e.preventDefault();
      if (sending) return;
      sending = new XMLHttpRequest();
      button.disabled = true;
      bar.hidden = false;
      said.replaceChildren();
      words.textContent = "Sending";
      sending.upload.addEventListener("progress", (e) => {
        bar.max = e.total;
        bar.value = e.loaded;
        words.textContent = e.loaded < e.total
          ? `${(e.loaded / MB).toFixed(1)} of ${(e.total / MB).toFixed(1)} MB`
          : "All of it has come. Its rows are being read.";
      });
      sending.addEventListener("load", () => {
        const to = sending.getResponseHeader("HX-Redirect");
        if (to) { location.href = to; return; }
        const html = (sending.getResponseHeader("Content-Type") || "").startsWith("text/html");
        if (!html) { over(sending.responseText.slice(0, 300) || "The server gave no answer."); return; }
        said.innerHTML = sending.responseText;
        over();
        form.reset();
        said.scrollIntoView({ block: "start" });
      });
      for (const kind of ["error", "timeout"]) {
        sending.addEventListener(kind, () => over("The connection broke before all of it had come. Nothing was kept: send it again."));
      }
      sending.open("POST", form.action);
      sending.setRequestHeader("HX-Request", "true");
      sending.send(new FormData(form));
    });
  });
});
