// Charts: the server gives figures as JSON beside an empty box; a table with the same figures follows each.
(() => {
  const colours = ["#1f6fd6", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0f766e", "#a16207", "#475569"];
  const dark = () => document.documentElement.dataset.bsTheme === "dark";
  const base = () => ({
    animation: false,
    backgroundColor: "transparent",
    color: colours,
    aria: { enabled: true },
    textStyle: { fontFamily: "inherit" },
    tooltip: { trigger: "item", renderMode: "richText", confine: true },
  });
  const names = { name: "", nameTextStyle: { align: "left" } };

  const kinds = {
    // Straight lines with a band from the low to the high end of each interval.
    trend(data) {
      const series = data.series.flatMap((s, i) => {
        const colour = colours[i % colours.length];
        const quiet = { type: "line", symbol: "none", lineStyle: { opacity: 0 }, tooltip: { show: false }, silent: true };
        return [
          { ...quiet, name: s.name, stack: `band${i}`, data: s.points.map((p) => [p.at, p.low]), areaStyle: { opacity: 0 } },
          { ...quiet, name: s.name, stack: `band${i}`, data: s.points.map((p) => [p.at, p.low == null ? null : p.high - p.low]),
            stackStrategy: "all", areaStyle: { opacity: 0.15, color: colour } },
          { name: s.name, type: "line", symbolSize: 8, lineStyle: { width: 2, color: colour }, itemStyle: { color: colour },
            data: s.points.map((p) => ({ value: [p.at, p.value], p })) },
        ];
      });
      return {
        ...base(), series,
        legend: { top: 0, type: "scroll", data: data.series.map((s) => s.name) },
        grid: { left: 48, right: 20, top: 44, bottom: 32 },
        xAxis: { type: "time", splitLine: { show: false } },
        yAxis: { type: "value", scale: true, 
          // Grades of other tools may lie beyond 1; scores of exams never do.
          max: (v) => (v.max > 1 ? null : Math.ceil(v.max * 10) / 10), min: (v) => (v.min < -1 ? null : Math.floor(v.min * 10) / 10) },
        tooltip: { ...base().tooltip, formatter: (t) => `${t.seriesName}\n${t.data.p.said}\n${t.data.p.suite}, n = ${t.data.p.n}\n${t.data.p.when}` },
      };
    },
    bars(data) {
      return {
        ...base(),
        grid: { left: 48, right: 16, top: 30, bottom: 44 },
        xAxis: { type: "category", data: data.labels, name: data.x, nameLocation: "middle", nameGap: 28, axisLabel: { hideOverlap: true } },
        yAxis: { type: "value", name: data.y, ...names, minInterval: 1, name: data.y },
        series: [{ type: "bar", data: data.counts, barCategoryGap: "12%" }],
        tooltip: { ...base().tooltip, formatter: (t) => `${t.name}: ${t.value}` },
      };
    },
    timeline(data) {
      return {
        ...base(),
        tooltip: { ...base().tooltip, trigger: "axis" },
        legend: { top: 0 },
        grid: { left: 52, right: 52, top: 44, bottom: 32 },
        xAxis: { type: "time", splitLine: { show: false } },
        yAxis: [{ type: "value", name: "items/s", ...names, name: "items/s", min: 0 }, { type: "value", name: "requests", min: 0, minInterval: 1, splitLine: { show: false } }],
        series: data.series.map((s, i) => ({ name: s.name, type: "line", showSymbol: s.points.length < 60, symbolSize: 5, yAxisIndex: s.axis, data: s.points, lineStyle: { type: ["solid", "dashed", "dotted", "solid"][i % 4] } })),
      };
    },
    scatter(data) {
      return {
        ...base(),
        grid: { left: 60, right: 90, top: 30, bottom: 48 },
        xAxis: { type: "value", name: data.x, nameLocation: "middle", nameGap: 30, scale: true, min: 0 },
        yAxis: { type: "value", name: data.y, ...names, name: data.y, scale: true },
        series: [{ type: "scatter", symbolSize: 14, data: data.points.map((p, i) => ({ value: [p.x, p.y], name: p.name, p, itemStyle: { color: colours[i % colours.length] } })), label: { show: true, position: "right", formatter: "{b}" } }],
        tooltip: { ...base().tooltip, formatter: (t) => `${t.name}\n${data.y} ${t.data.p.ys}\n${data.x} ${t.data.p.xs}` },
      };
    },
  };

  function draw(box) {
    const data = JSON.parse(document.getElementById(box.dataset.chart).textContent);
    const old = echarts.getInstanceByDom(box);
    old?.dispose();
    const chart = echarts.init(box, dark() ? "dark" : null, { renderer: "canvas" });
    chart.setOption(kinds[box.dataset.kind](data));
    box.dataset.drawn = "true";
  }
  const drawAll = (root = document) => root.querySelectorAll("[data-chart]").forEach(draw);
  document.addEventListener("DOMContentLoaded", () => drawAll());
  document.addEventListener("htmx:afterSettle", (e) => drawAll(e.target));
  window.addEventListener("themechange", () => drawAll());
  let soon;
  window.addEventListener("resize", () => {
    clearTimeout(soon);
    soon = setTimeout(() => document.querySelectorAll("[data-chart]").forEach((box) => echarts.getInstanceByDom(box)?.resize()), 100);
  });
})();
