// What is at work: the score as it narrows, the tab's title, a notification at the end, pieces that follow an end.
(() => {
  const { one, all, say, actions } = window.proctor;

  // The value after ever more items, with its 95 % interval as a band. ECharts draws a band as two stacked lines.
  if (window.charts) charts.kinds.narrowing = (data) => {
    const colour = charts.dark() ? "#79b3ff" : charts.colours[0], quiet = charts.dark() ? "#a9b4c2" : "#5a6372";
    const points = data.points, last = points.at(-1), end = 3 * last[0] < data.of ? 3 * last[0] : data.of;
    // The first few points are as wide as the scale; what follows them says how it is drawn.
    const shown = points.filter((p) => 8 * p[0] >= last[0]);
    const least = Math.min(...shown.map((p) => p[2])), most = Math.max(...shown.map((p) => p[3]));
    const tick = most - least > 0.4 ? 0.2 : most - least > 0.15 ? 0.1 : most - least > 0.06 ? 0.05 : 0.02, digits = tick < 0.1 ? 2 : 1;
    const low = Math.max(0, Math.floor(least / tick + 1e-9) * tick), high = Math.min(1, Math.ceil(most / tick - 1e-9) * tick);
    const line = (of, more) => ({ type: "line", symbol: "none", silent: true, data: points.map((p) => [p[0], of(p)]), ...more });
    const number = (value) => value.toLocaleString("en");
    return {
      ...charts.base(),
      grid: { left: 44, right: 16, top: 12, bottom: 40 },
      tooltip: { ...charts.base().tooltip, trigger: "axis", formatter: (found) => {
        const p = points.find((each) => each[0] === found[0].axisValue);
        return p ? `After ${number(p[0])} ${data.what}: ${p[1].toFixed(3)} [${p[2].toFixed(3)}, ${p[3].toFixed(3)}]` : "";
      } },
      xAxis: { type: "value", min: 0, max: end, name: `${data.what}, of ${number(data.of)}`, nameLocation: "middle", nameGap: 26, nameTextStyle: { color: quiet },
        splitLine: { show: false }, axisLabel: { hideOverlap: true, color: quiet, showMaxLabel: end === data.of } },
      yAxis: { type: "value", min: low, max: high > low ? high : low + tick, interval: tick, axisLabel: { color: quiet, formatter: (v) => v.toFixed(digits) } },
      series: [
        line((p) => Math.max(low, p[2]), { stack: "band", lineStyle: { opacity: 0 } }),
        line((p) => Math.min(high, p[3]) - Math.max(low, p[2]), { stack: "band", stackStrategy: "all", lineStyle: { opacity: 0 }, areaStyle: { color: colour, opacity: charts.dark() ? 0.3 : 0.18 } }),
        line((p) => p[1], { lineStyle: { width: 2.5, color: colour }, z: 5, clip: true,
          markPoint: { silent: true, symbol: "circle", symbolSize: 9, itemStyle: { color: colour }, label: { show: false }, data: [{ coord: [last[0], last[1]] }] } }),
      ],
    };
  };

  // The title of the tab: what is at work, before the page's own name.
  const own = document.title;
  function entitle(root) {
    const says = one("[data-title]", root)?.dataset.title;
    if (says !== undefined) document.title = says ? `${says} · ${own}` : own;
  }

  // A notification when a run ends: asked for by a press, remembered for this run in this browser.
  const kept = (id) => `tell:${id}`;
  function recall() {
    for (const button of all("[data-do=tell_me]")) {
      button.hidden = !("Notification" in window);
      const on = "Notification" in window && Notification.permission === "granted" && localStorage.getItem(kept(button.dataset.tell)) === "1";
      button.setAttribute("aria-pressed", String(on));
      one("[data-tell-words]", button).textContent = on ? "You will be told" : "Tell me when it ends";
    }
  }
  actions.tell_me = async (button) => {
    const id = button.dataset.tell;
    if (button.getAttribute("aria-pressed") === "true") localStorage.removeItem(kept(id));
    else if (await Notification.requestPermission() === "granted") localStorage.setItem(kept(id), "1");
    else say("This browser does not allow notifications from here; its settings for this site do.");
    recall();
  };
  function tell(root) {
    const ended = one("[data-ended][data-told]", root), button = one("[data-do=tell_me]");
    if (!ended || !button || localStorage.getItem(kept(button.dataset.tell)) !== "1") return;
    localStorage.removeItem(kept(button.dataset.tell));
    if (Notification.permission === "granted") new Notification(ended.dataset.told, { tag: button.dataset.tell });
  }

  // Who lists runs follows their ends: `ended` is sent to the body once, whichever way one heard of it.
  let soon, runs = one("[data-runs]")?.dataset.runs;
  function ended() { clearTimeout(soon); soon = setTimeout(() => htmx.trigger(document.body, "ended"), 300); }
  function follow(root) {
    const now = one("[data-runs]", root)?.dataset.runs;
    if (now === undefined) return;
    if (runs !== undefined && now !== runs) ended();
    runs = now;
  }
  document.addEventListener("stream:ended", ended);

  document.addEventListener("htmx:afterSwap", (e) => { entitle(e.target); follow(e.target); tell(e.target); });
  document.addEventListener("DOMContentLoaded", () => { entitle(document); recall(); });
})();
