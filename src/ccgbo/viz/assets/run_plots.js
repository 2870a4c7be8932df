// Plots of how it went: predicted against observed, the distribution of values, trials in time.
"use strict";

Object.assign(ccgbo.plots, (() => {
  const { duration, everyNth, label, number, range, short } = ccgbo;
  const { colors, layout } = ccgbo.plots;
  const MOST_BANDS = 250;  // observations with an error bar each; more are a blot

  // Each observation as predicted from the others, with its 95 % band.
  function leftOut(data) {
    const { BLUE, GREY, INK } = colors();
    const { id, value, mean, low, high } = data.analysis.believe.left_out;
    const window = data.window() || padded(range(value));
    const inside = (v) => Math.min(Math.max(v, window[0]), window[1]);
    const text = id.map((i, k) => `<b>trial ${i}</b><br>observed ${number(value[k])}<br>predicted from the others ${number(mean[k])}<br>95 % band ${number(low[k])} to ${number(high[k])}`);
    return [[
      { type: "scatter", mode: "lines", x: window, y: window, line: { color: GREY, dash: "dot", width: 1.5 }, hoverinfo: "skip" },
      {
        type: "scatter", mode: "markers", x: value.map(inside), y: mean.map(inside), text, hovertemplate: "%{text}<extra></extra>",
        marker: { color: BLUE, size: 7, line: { color: INK, width: 0.5 } },
        error_y: id.length > MOST_BANDS ? undefined : {
          type: "data", symmetric: false, array: high.map((h, k) => Math.max(h - inside(mean[k]), 0)), arrayminus: low.map((l, k) => Math.max(inside(mean[k]) - l, 0)),
          color: GREY, thickness: 1, width: 0,
        },
      },
    ], layout({
      xaxis: { title: { text: "observed" }, range: window },
      yaxis: { title: { text: "predicted from the others" }, range: window },
    })];
  }

  function padded([low, high]) {
    const pad = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
    return [low - pad, high + pad];
  }

  // How many evaluations gave which value; the best stands out.
  function distribution(data) {
    const { BLUE, RED } = colors();
    const values = data.complete().map((id) => data.value(id));
    const [low, high] = data.window() || padded(range(values));
    const bins = Math.max(Math.min(30, Math.ceil(Math.sqrt(values.length) * 1.5)), 5);
    const counts = new Array(bins).fill(0), width = (high - low) / bins;
    for (const value of values) if (value >= low && value <= high) counts[Math.min(Math.floor((value - low) / width), bins - 1)] += 1;
    const best = data.study.best === null ? null : data.value(data.study.best);
    const traces = [{
      type: "bar", x: counts.map((_, i) => low + (i + 0.5) * width), y: counts, width: 0.94 * width, marker: { color: BLUE },
      customdata: counts.map((_, i) => `${number(low + i * width, 4)} to ${number(low + (i + 1) * width, 4)}`), hovertemplate: "%{y} with %{customdata}<extra></extra>",
    }];
    if (best !== null) {
      traces.push({ type: "scatter", mode: "lines", x: [best, best], y: [0, Math.max(...counts)], line: { color: RED, width: 2, dash: "dot" }, hovertemplate: `the best, ${number(best)}<extra></extra>` });
    }
    return [traces, layout({ xaxis: { title: { text: data.metric === null ? "value" : short(data.metric, 28) }, range: [low, high] }, yaxis: { title: { text: "evaluations" }, rangemode: "tozero" }, bargap: 0.04 })];
  }

  // One bar per trial, from its asking to its outcome.
  function timeline(data) {
    const { BLUE, RED, GREY } = colors();
    const { trials } = data;
    const known = [...trials.asked_at, ...trials.told_at].filter((at) => at !== null);
    const last = 1000 * range(known)[1];  // a report may be read years later
    const ids = everyNth(trials.id.filter((_, i) => trials.asked_at[i] !== null), 1500);
    const kinds = { complete: [BLUE, "circle"], failed: [RED, "x"], pending: [GREY, "circle-open"], abandoned: [GREY, "x-thin-open"] };
    const traces = Object.entries(kinds).map(([state, [color, symbol]]) => {
      const x = [], y = [], text = [], size = [];
      for (const id of ids) {
        const i = data.row.get(id);
        if (trials.state[i] !== state) continue;
        const from = 1000 * trials.asked_at[i], to = trials.told_at[i] === null ? (state === "pending" ? last : from) : 1000 * trials.told_at[i];
        const took = duration((to - from) / 1000);
        const said = `<b>trial ${id}</b>, ${state}<br>${state === "pending" ? `asked ${new Date(from).toLocaleString()}` : state === "abandoned" ? "" : took}${trials.reason[id] ? `<br>${label(trials.reason[id].slice(0, 120))}` : ""}`;
        x.push(from, to, null);
        y.push(id, id, null);
        text.push(said, said, "");
        size.push(0, 7, 0);
      }
      return { type: "scatter", mode: "lines+markers", x, y, text, hovertemplate: "%{text}<extra></extra>", line: { color, width: 3 }, marker: { color, symbol, size, line: { color, width: 1.5 } } };
    });
    return [traces.filter((t) => t.x.length), layout({ xaxis: { type: "date" }, yaxis: { title: { text: "trial" }, autorange: "reversed" } })];
  }

  return { distribution, leftOut, timeline };
})());
