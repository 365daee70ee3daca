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
    // A walk from 0 between the fields in which either model is better: where it reaches one, the verdict is sure.
    walk(data) {
      const ink = dark() ? "#e6ebf2" : "#1b2433", quiet = dark() ? "#a9b4c2" : "#5a6372", narrow = window.innerWidth < 576;
      const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });
      const bounds = data.points.filter((p) => p[2] != null), last = data.points.at(-1) ?? [0, 0, null];
      const most = Math.max(1, ...data.points.map((p) => Math.abs(p[1])), ...bounds.map((p) => p[2])) * 1.2;
      const step = 10 ** Math.floor(Math.log10(most / 2)), tick = [1, 2, 5, 10].map((n) => n * step).find((n) => n * 3 >= most) ?? most;
      const high = Math.ceil(most / tick) * tick, left = data.of - last[0], over = data.ended === "decided" || data.ended === "futile";
      // What was stopped or seen early fills a third of the picture at least.
      const end = last[0] && 5 * last[0] < data.of ? 3 * last[0] : data.of;
      const field = (sign, colour, name) => ({
        name, type: "line", symbol: "none", silent: true, tooltip: { show: false },
        data: bounds.map((p) => [p[0], sign * p[2]]), lineStyle: { width: 1.5, color: colour, type: "dashed" },
        areaStyle: { origin: sign > 0 ? "end" : "start", color: colour, opacity: dark() ? 0.34 : 0.18 },
      });
      const note = (name, sign, fill) => ({ type: "text", right: 34, [sign > 0 ? "top" : "bottom"]: sign > 0 ? 34 : 58, silent: true,
        style: { text: `${sign > 0 ? "▲" : "▼"} ${name} better`, fill, fontWeight: 600, fontSize: 13, width: narrow ? 150 : 320, overflow: "truncate" } });
      return {
        ...base(),
        grid: { left: 52, right: 30, top: 30, bottom: 48 },
        tooltip: { ...base().tooltip, trigger: "axis",
          formatter: (found) => {
            const p = data.points.find((each) => each[0] === found[0].axisValue);
            if (!p) return "";
            const ahead = p[1] ? `${p[1] > 0 ? data.first : data.second} ahead by ${number(Math.abs(p[1]))}` : "neither ahead";
            return `After ${number(p[0])} items: ${ahead}\n${p[2] == null ? "so few cannot decide it" : `${number(p[2])} either way decides it`}`;
          } },
        xAxis: { type: "value", min: 0, max: end, name: narrow ? `items both answered, of ${number(data.of)}` : `items that both have answered, of ${number(data.of)}`, nameLocation: "middle", nameGap: 28,
          nameTextStyle: { color: quiet }, splitLine: { show: false }, axisLine: { onZero: true, lineStyle: { color: quiet } }, axisTick: { show: false },
          axisLabel: { hideOverlap: true, color: quiet, margin: 8, showMaxLabel: end === data.of } },
        yAxis: { type: "value", min: -high, max: high, interval: tick, name: "ahead by", nameTextStyle: { color: quiet, align: "left", padding: [0, 0, 0, -36] },
          axisLabel: { color: quiet, formatter: (v) => number(Math.abs(v)) }, splitLine: { show: false } },
        graphic: [note(data.first, 1, dark() ? "#79b3ff" : colours[0]), note(data.second, -1, dark() ? "#ff9d6b" : colours[1])],
        series: [
          field(1, colours[0], data.first), field(-1, colours[1], data.second),
          { name: "walk", type: "line", symbol: "none", z: 5, lineStyle: { width: 3, color: ink }, data: [[0, 0], ...data.points.map((p) => [p[0], p[1]])],
            markPoint: { silent: true, symbol: "circle", symbolSize: 12, itemStyle: { color: ink }, label: { show: false }, data: [{ coord: [last[0], last[1]] }] },
            markArea: over && left > 0 ? { silent: true, itemStyle: { color: quiet, opacity: 0.12 },
              label: { color: quiet, position: "inside", offset: [0, -14], formatter: `${number(left)} not needed${end < data.of ? " →" : ""}` }, data: [[{ xAxis: last[0] }, { xAxis: end }]] } : undefined },
        ],
      };
    },
  };

  // Scripts of single screens add kinds of their own.
  window.charts = { kinds, base, colours, dark, names };

  function draw(box) {
    const data = JSON.parse(document.getElementById(box.dataset.chart).textContent);
    // A box that a live piece left in its place is drawn over: to begin anew costs many times that.
    let chart = echarts.getInstanceByDom(box);
    if (chart && box.dataset.theme !== String(dark())) { chart.dispose(); chart = undefined; }
    chart ??= echarts.init(box, dark() ? "dark" : null, { renderer: "canvas" });
    box.dataset.theme = String(dark());
    // The page's own words: the library would list the first points.
    const aria = { enabled: true, label: { description: box.getAttribute("aria-label") } };
    chart.setOption({ ...kinds[box.dataset.kind](data), aria }, true);
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
