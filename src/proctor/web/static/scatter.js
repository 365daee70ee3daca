// Scores against cost or time: whiskers both ways, and the frontier that no other model is beyond as a step line.
(() => {
  const { kinds, base, colours, dark, names } = window.charts;
  kinds.scatter = (data) => {
    const ink = dark() ? "#e6ebf2" : "#1b2433", quiet = dark() ? "#a9b4c2" : "#5a6372";
    const line = (at, colour) => ({ type: "line", symbol: "none", silent: true, tooltip: { show: false }, z: 2, lineStyle: { color: colour, width: 1.5, opacity: 0.8 }, data: at });
    const whiskers = data.points.flatMap((p, i) => {
      const colour = colours[i % colours.length], found = [];
      if (p.low != null && p.high != null) found.push(line([[p.x, p.low], [p.x, p.high]], colour));
      if (p.x_high != null) found.push(line([[p.x_low ?? p.x, p.y], [p.x_high, p.y]], colour));
      return found;
    });
    // From point to point of the frontier: as good as the one before until the next is reached.
    const front = data.points.filter((p) => p.front).sort((a, b) => a.x - b.x);
    const ends = data.points.flatMap((p) => [p.x_high ?? p.x, p.x]);
    const most = Math.max(...ends) * 1.15 || 1;
    const steps = front.length ? [...front.map((p) => [p.x, p.y]), [most, front.at(-1).y]] : [];
    const low = Math.min(...data.points.map((p) => p.low ?? p.y)), high = Math.max(...data.points.map((p) => p.high ?? p.y));
    return {
      ...base(),
      grid: { left: 56, right: 24, top: 30, bottom: 46 },
      xAxis: { type: "value", name: data.x, nameLocation: "middle", nameGap: 28, nameTextStyle: { color: quiet }, min: 0, max: most, axisLabel: { color: quiet, showMaxLabel: false, hideOverlap: true }, splitLine: { show: false } },
      yAxis: { type: "value", ...names, name: data.y, nameTextStyle: { color: quiet, align: "left", padding: [0, 0, 0, -40] }, axisLabel: { color: quiet }, scale: true,
        min: data.least < 0 ? -1 : Math.max(0, Math.floor(low * 10) / 10) || (low < 0 ? null : 0), max: high > 1 ? null : Math.ceil(high * 10) / 10 },
      series: [
        { name: "frontier", type: "line", step: "end", symbol: "none", silent: true, tooltip: { show: false }, z: 1, lineStyle: { color: quiet, width: 1.5, type: "dashed" }, data: steps },
        ...whiskers,
        { type: "scatter", z: 5, symbolSize: 13,
          data: data.points.map((p, i) => ({ value: [p.x, p.y], name: p.name, p, symbol: p.front ? "circle" : "emptyCircle", itemStyle: { color: colours[i % colours.length], borderWidth: 2 },
            label: { position: p.x > most * 0.6 ? "left" : "right", offset: [0, -9] } })),
          label: { show: true, formatter: "{b}", color: ink, distance: 8, width: 170, overflow: "truncate" }, labelLayout: { hideOverlap: true, moveOverlap: "shiftY" } },
      ],
      tooltip: { ...base().tooltip, formatter: (t) => `${t.name}${t.data.p.front ? " (frontier)" : ""}\n${data.y} ${t.data.p.ys}\n${data.x} ${t.data.p.xs}` },
    };
  };
})();
