// Plots of several objectives: the front, and how the volume that it dominates grew.
"use strict";

Object.assign(ccgbo.plots, (() => {
  const { everyNth, short } = ccgbo;
  const { colors, layout } = ccgbo.plots;
  const MOST_BARS = 250;  // trials of a front with error bars; more are a blot

  // Trials over two objectives: the front with the 95 % bars of what is believed, the others coloured by credit.
  function front(data, x, y) {
    const { BLUE, CARD, EDGE } = colors();
    const found = data.front();
    const [i, j] = [found.names.indexOf(x), found.names.indexOf(y)];
    const rows = found.id.map((_, k) => k).filter((k) => found.at[i][k] !== null && found.at[j][k] !== null);
    const credit = { colorscale: "Cividis", cmin: 0, cmax: 1 };
    const group = (name, ks, marker) => ({
      type: "scatter", mode: "markers", name, x: ks.map((k) => found.at[i][k]), y: ks.map((k) => found.at[j][k]),
      text: ks.map((k) => data.hover(found.id[k])), hovertemplate: "%{text}<extra></extra>", marker,
    });
    const shades = (ks) => ks.map((k) => data.creditOf(found.id[k]) || 0);
    const on = rows.filter((k) => found.on_front[k]).sort((a, b) => found.at[i][a] - found.at[i][b]);
    const dominated = everyNth(rows.filter((k) => found.feasible[k] && !found.on_front[k]), 1500);
    const out = everyNth(rows.filter((k) => !found.feasible[k]), 800);
    const bars = (axis) => found.low && on.length <= MOST_BARS ? {
      type: "data", symmetric: false, color: BLUE, thickness: 1, width: 0,
      array: on.map((k) => Math.max(found.high[axis][k] - found.at[axis][k], 0)), arrayminus: on.map((k) => Math.max(found.at[axis][k] - found.low[axis][k], 0)),
    } : undefined;
    const traces = [
      group("infeasible", out, { symbol: "x-thin", size: 8, color: EDGE, line: { width: 2, color: EDGE } }),
      group("dominated", dominated, { ...credit, size: 9, color: shades(dominated), line: { color: EDGE, width: 0.6 }, showscale: data.credit.size > 0,
        colorbar: { title: { text: "credit", side: "right" }, thickness: 10, outlinewidth: 0, len: 0.9 } }),
      { ...group("front", on, { symbol: "diamond", size: 10, color: BLUE, line: { color: CARD, width: 1 } }), error_x: bars(i), error_y: bars(j),
        mode: found.names.length === 2 ? "lines+markers" : "markers", line: { color: BLUE, width: 1.2 } },
    ];
    return [traces, layout({ xaxis: { title: { text: short(x, 28) } }, yaxis: { title: { text: short(y, 28) } } })];
  }

  // The volume that the measured front dominates, over the evaluations.
  function hypervolume({ n, steps }) {
    const { BLUE } = colors();
    const x = [...steps.map(([at]) => at), n], y = [...steps.map(([, value]) => value), steps[steps.length - 1][1]];
    const trace = { type: "scatter", mode: "lines", x, y, line: { shape: "hv", color: BLUE, width: 2 }, hovertemplate: "%{y:.5g} after %{x} evaluations<extra></extra>" };
    return [[trace], layout({ xaxis: { title: { text: "evaluation" } }, yaxis: { title: { text: "hypervolume" }, rangemode: "tozero" } })];
  }

  // Order of trials in parallel coordinates, the worst first: by value or by how many dominate each.
  function byMerit(data, ids) {
    if (!data.several) return [...ids].sort((a, b) => (data.better(data.value(a), data.value(b)) ? 1 : -1));
    const goals = Object.entries(data.metrics.objectives);
    const rows = new Map(ids.map((id) => [id, goals.map(([name, way]) => { const v = data.measured(name, id); return v === null ? -Infinity : way === "maximize" ? v : -v; })]));
    const dominated = new Map(ids.map((id) => {
      const own = rows.get(id);
      let by = 0;
      for (const other of rows.values()) if (other.every((v, k) => v >= own[k]) && other.some((v, k) => v > own[k])) by += 1;
      return [id, by];
    }));
    return [...ids].sort((a, b) => dominated.get(b) - dominated.get(a));
  }

  return { byMerit, front, hypervolume };
})());
