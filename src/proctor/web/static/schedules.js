// The browser's own time beside every time in UTC, where the two differ; the server's words stay as they are.
(() => {
  const minutes = -new Date().getTimezoneOffset();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "your time";
  const clock = (at) => at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

  function beside(root) {
    root.querySelectorAll("time[data-local]:not([data-told])").forEach((place) => {
      const at = new Date(place.dateTime);
      place.dataset.told = "";
      if (Number.isNaN(at.getTime())) return;
      const day = at.toLocaleDateString("en-GB", { weekday: "short", timeZone: "UTC" });
      if ("day" in place.dataset) place.before(`${day} `);
      if (at.getTimezoneOffset() === 0) return;
      const there = document.createElement("span");
      there.className = "local-time";
      const elsewhere = at.toLocaleDateString("en-GB", { weekday: "short" });
      there.textContent = `${elsewhere === day ? "" : `${elsewhere} `}${clock(at)} your time`;
      place.after(there);
    });
  }

  function timeOf(hint) {
    const input = document.getElementById(hint.dataset.localOf);
    const said = () => {
      const [hour, minute] = input.value.split(":").map(Number);
      const now = new Date();
      const at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), hour, minute));
      hint.textContent = minutes && input.value ? `${clock(at)} in ${zone}` : "";
    };
    input.addEventListener("input", said);
    said();
  }

  document.addEventListener("DOMContentLoaded", () => {
    beside(document);
    document.querySelectorAll("[data-local-of]").forEach(timeOf);
    const note = document.querySelector("#zone-note");
    if (note && minutes) note.textContent = `Your time is that of ${zone}.`;
  });
  document.addEventListener("htmx:afterSettle", (e) => beside(e.target.parentElement ?? document));
})();
