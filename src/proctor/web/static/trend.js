// Trends: straight lines with a band where there are several points, whiskers where there is one; a click opens the run.
(() => {
  const { kinds, base, colours, dark } = window.charts;
  const MINUTE = 60e3, DAY = 864e5;

  // Days are said as "19 Nov", hours with their day where all lies within two days. All of it is UTC.
  const said = (at, options) => new Date(at).toLocaleString("en-GB", { timeZone: "UTC", ...options });
  const day = (at) => said(at, { day: "numeric", month: "short" });
  const hour = (at) => `${said(at, { hour: "2-digit", minute: "2-digit" })}\n${day(at)}`;

  function times(points) {
    const first = Math.min(...points.map((p) => p.at)), last = Math.max(...points.map((p) => p.at));
    const room = Math.max((last - first) * 0.04, first === last ? DAY / 2 : 10 * MINUTE);
    const short = last - first + 2 * room <= 2 * DAY;
    return {
      type: "time", min: first - room, max: last + room, splitLine: { show: false }, splitNumber: short ? 4 : 6,
      axisLabel: { hideOverlap: true, lineHeight: 14, formatter: short ? hour : day, showMinLabel: false, showMaxLabel: false },
    };
  }
  // Scores lie between 0 and 1; a metric that may be below 0 is drawn from -1 to 1; grades of other tools may lie beyond.
  function values(points) {
    const lows = points.map((p) => p.low ?? p.value), highs = points.map((p) => p.high ?? p.value);
    const low = Math.min(...lows), high = Math.max(...highs);
    if (low < 0 && low >= -1 && high <= 1) return { type: "value", min: -1, max: 1, interval: 0.5 };
    if (low < -1 || high > 1) return { type: "value", scale: true };
    const interval = high - low > 0.45 ? 0.2 : high - low > 0.15 ? 0.1 : 0.05, tidy = (value) => Math.round(value * 100) / 100;
    return { type: "value", interval, min: tidy(Math.max(0, Math.floor(low / interval + 1e-9) * interval)), max: tidy(Math.min(1, Math.ceil(high / interval - 1e-9) * interval)) };
  }

  kinds.trend = (data) => {
    const quiet = { type: "line", symbol: "none", silent: true, tooltip: { show: false } };
    const series = data.series.flatMap((s, i) => {
      const colour = colours[i % colours.length];
      const line = { name: s.name, type: "line", symbolSize: 9, symbol: "circle", showSymbol: true, z: 4, cursor: "pointer",
        lineStyle: { width: 2, color: colour }, itemStyle: { color: colour, borderColor: dark() ? "#1b2433" : "#fff", borderWidth: 1.5 },
        emphasis: { scale: 1.5 }, data: s.points.map((p) => ({ value: [p.at, p.value], p })) };
      if (s.points.length > 1) return [
        { ...quiet, name: s.name, stack: `band${i}`, lineStyle: { opacity: 0 }, data: s.points.map((p) => [p.at, p.low]), areaStyle: { opacity: 0 } },
        { ...quiet, name: s.name, stack: `band${i}`, stackStrategy: "all", lineStyle: { opacity: 0 },
          data: s.points.map((p) => [p.at, p.low == null ? null : p.high - p.low]), areaStyle: { opacity: 0.13, color: colour } },
        line,
      ];
      const [p] = s.points;
      return p.low == null ? [line] : [
        // A whisker: upright, with its ends as short bars.
        { ...quiet, name: s.name, symbol: "rect", symbolSize: [12, 2], itemStyle: { color: colour }, lineStyle: { width: 2, color: colour }, data: [[p.at, p.low], [p.at, p.high]] },
        line,
      ];
    });
    const points = data.series.flatMap((s) => s.points);
    return {
      ...base(), series, useUTC: true,
      grid: { left: 40, right: 12, top: 12, bottom: 44 },  // the names of the lines stand above, as text
      xAxis: times(points), yAxis: values(points),
      tooltip: { ...base().tooltip, formatter: (t) => `${t.seriesName}\n${t.data.p.said}\n${t.data.p.suite}, n = ${t.data.p.n}\n${t.data.p.when}\nPress to open the run` },
    };
  };

  // The drawing is the library's own; it says which point was pressed.
  function lead(box) {
    const chart = echarts.getInstanceByDom(box);
    chart?.off("click");
    chart?.on("click", (e) => { if (e.data?.p?.href) location.href = e.data.p.href; });
  }
  new MutationObserver((seen) => { for (const each of seen) if (each.target.dataset?.kind === "trend") lead(each.target); })
    .observe(document.documentElement, { subtree: true, attributes: true, attributeFilter: ["data-drawn"] });
})();
