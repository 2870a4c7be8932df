// The plots of a study: each function gives [traces, layout] for plotly.
"use strict";

ccgbo.plots = (() => {
  const { el, everyNth, label, number, range, short } = ccgbo;
  let BLUE, RED, GREEN, PURPLE, GREY, INK, GRID, CARD, EDGE, VEIL;  // of the scheme, light or dark

  // The colours that the style sheet has now.
  function colors() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    [BLUE, RED, GREEN, PURPLE, GREY] = ["plot-blue", "plot-red", "plot-green", "plot-purple", "plot-grey"].map(of);
    [INK, GRID, CARD, EDGE, VEIL] = ["ink", "grid", "card", "soft", "veil"].map(of);
    return { BLUE, RED, GREEN, PURPLE, GREY, INK, GRID, CARD, EDGE, VEIL };
  }
  const LAYERS = {  // of a map: title, colours
    mean: ["predicted value", "Viridis"],
    std: ["uncertainty (standard deviation)", "Cividis"],
    credit: ["credit field", "Cividis"],
    base: ["base acquisition", "Viridis"],
    weighted: ["acquisition with credit", "Viridis"],
    feasibility: ["probability of being feasible", "Cividis"],
  };

  // -- plots: each gives [traces, layout]

  const FONT = { family: "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif", size: 12 };
  const CONFIG = {
    displayModeBar: "hover",
    displaylogo: false,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  function layout(more) {
    const axis = { gridcolor: GRID, zeroline: false, automargin: true };
    return {
      font: { ...FONT, color: INK },
      margin: { l: 54, r: 14, t: 30, b: 44 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hovermode: "closest",
      hoverlabel: { bgcolor: CARD, bordercolor: GREY, font: { color: INK, size: 12 } },
      showlegend: false,
      modebar: { bgcolor: VEIL, color: GREY, activecolor: INK },
      ...more,
      xaxis: { ...axis, ...(more.xaxis || {}) },
      yaxis: { ...axis, ...(more.yaxis || {}) },
    };
  }

  function size(credit, scale = 1) {
    return scale * (credit === null ? 6 : 5 + 11 * credit * credit);
  }

  function axisOf(a) {
    const out = { title: { text: short(a.name, 28), standoff: 8 } };
    if (a.labels.length) {
      return { ...out, tickvals: a.labels.map((_, i) => i), ticktext: a.labels.map((text) => short(text)), type: "linear" };
    }
    return a.log ? { ...out, type: "log", exponentformat: "power", dtick: 1 } : out;
  }

  // In a small plot: room beside the outer ones, or the label of the last is left out.
  function choices(labels) {
    const most = Math.max(6, Math.floor(36 / labels.length));
    return { ticktext: labels.map((text) => short(text, most)), range: [-0.5, labels.length - 0.5] };
  }

  function dots(data, x, y, ids, scale = 1) {
    const credit = ids.map((id) => data.creditOf(id));
    return {
      type: "scatter",
      mode: "markers",
      x,
      y,
      text: ids.map((id) => data.hover(id)),
      hovertemplate: "%{text}<extra></extra>",
      marker: {
        size: credit.some((c) => c !== null) ? credit.map((c) => size(c, scale)) : size(null, scale),  // one size draws faster
        color: RED,
        opacity: 0.9,
        line: { color: CARD, width: 1 },
        ...(data.bounded ? { symbol: ids.map((id) => symbol(data, id)) } : {}),
      },
    };
  }

  // A cross where a bound was broken, a ring where that is not known.
  function symbol(data, id) {
    const kept = data.feasible(id);
    return kept ? "circle" : kept === null ? "circle-open" : "x";
  }

  // Where the best value changed, and the end: the line between is the same with every evaluation in it.
  function bestSoFar(data, ids, at) {
    const x = [], y = [];
    for (const id of ids) {
      const value = data.value(id);
      if (data.feasible(id) !== true) continue;
      if (y.length && !data.better(value, y[y.length - 1])) continue;
      x.push(at(id));
      y.push(value);
    }
    if (x.length) {
      x.push(at(ids[ids.length - 1]));
      y.push(y[y.length - 1]);
    }
    return { x, y };
  }

  // by: "trial" or "time"; scale: "near" leaves far-off values at the edge, "all" or "log"
  function progress(data, by, scale) {
    const time = (id) => { const at = data.trials.told_at[data.row.get(id)]; return at === null ? null : 1000 * at; };
    const at = by === "time" ? time : (id) => id;
    const told = by === "time" ? data.complete().filter((id) => time(id) !== null).sort((a, b) => time(a) - time(b)) : data.complete();
    const kept = by === "time" ? new Set(told) : null;
    const ids = kept ? data.drawn().filter((id) => kept.has(id)) : data.drawn();
    const window = scale === "near" ? data.window() : null;
    const beyond = (value) => window !== null && (value < window[0] || value > window[1]);
    const edge = window === null ? 0 : 0.03 * (window[1] - window[0]);  // so that what stands there is seen whole
    const shown = (value) => (beyond(value) ? Math.min(Math.max(value, window[0] + edge), window[1] - edge) : value);
    const credit = ids.map((id) => data.creditOf(id));
    const failed = everyNth(data.trials.id.filter((_, i) => data.trials.state[i] === "failed" && (by !== "time" || data.trials.told_at[i] !== null)), 500);
    const known = credit.some((c) => c !== null);
    const traces = [
      { type: "scatter", mode: "lines", ...bestSoFar(data, told, at), line: { shape: "hv", color: BLUE, width: 2 }, hoverinfo: "skip" },
      dots(data, ids.map(at), ids.map((id) => shown(data.value(id))), ids),
    ];
    traces[1].marker.color = known ? credit.map((c) => (c === null ? 0 : c)) : GREY;
    Object.assign(traces[1].marker, {
      colorscale: "Cividis", cmin: 0, cmax: 1, showscale: known, line: { color: EDGE, width: 0.6 },
      colorbar: { title: { text: "credit", side: "right" }, thickness: 10, outlinewidth: 0, len: 0.9 },
    });
    if (window !== null) traces[1].marker.symbol = ids.map((id) => (beyond(data.value(id)) ? (data.study.direction === "maximize" ? "triangle-down" : "triangle-up") : symbol(data, id)));
    const apart = everyNth(data.apart().filter((id) => at(id) !== null && (scale !== "log" || data.value(id) > 0)), 500);
    if (apart.length) {
      traces.push({
        type: "scatter", mode: "markers", x: apart.map(at), y: apart.map((id) => shown(data.value(id))), text: apart.map((id) => data.hover(id)),
        hovertemplate: "%{text}<extra></extra>", marker: { symbol: "circle-open", color: GREY, size: 8 },
      });
    }
    if (failed.length) {
      traces.push({
        type: "scatter", mode: "markers", x: failed.map(at), y: failed.map(() => 0.02), yaxis: "y2", customdata: failed,
        marker: { symbol: "x", color: RED, size: 7 }, hovertemplate: "trial %{customdata} failed<extra></extra>",
      });
    }
    const proxy = data.analysis.proxy;
    if (told.length && typeof proxy === "number" && !beyond(proxy)) {
      traces.push({
        type: "scatter", mode: "lines", x: [at(told[0]), at(told[told.length - 1])], y: [proxy, proxy],
        line: { color: RED, dash: "dot", width: 1.5 }, hovertemplate: "estimated optimum %{y}<extra></extra>",
      });
    }
    return [traces, layout({
      xaxis: by === "time" ? { type: "date" } : { title: { text: "trial" } },
      yaxis: { title: { text: data.metrics === null ? "value" : short(data.metrics.names[0], 28) }, ...(scale === "log" ? { type: "log", exponentformat: "power" } : {}), ...(window ? { range: window } : {}) },
      yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true },
    })];
  }

  function map(data, cut, layer) {
    const [title, colorscale] = LAYERS[layer];
    const ids = data.drawn();
    const [i, j] = [data.names.indexOf(cut.x.name), data.names.indexOf(cut.y.name)];
    const at = (k) => ids.map((id) => data.at(k, id));
    const traces = [
      {
        type: "heatmap", x: cut.x.at, y: cut.y.at, z: cut.layers[layer], colorscale, hoverongaps: false,
        zmin: (cut.colors[layer] || [])[0], zmax: (cut.colors[layer] || [])[1],
        colorbar: { thickness: 10, outlinewidth: 0, len: 0.95 },
        hovertemplate: `${label(cut.x.name)} %{x}<br>${label(cut.y.name)} %{y}<br>${title} %{z:.4g}<extra></extra>`,
      },
      dots(data, at(i), at(j), ids),
    ];
    return [traces, layout({ xaxis: { ...axisOf(cut.x), showgrid: false }, yaxis: { ...axisOf(cut.y), showgrid: false } })];
  }

  function share(values) {
    const real = values.filter((v) => v !== null);
    const [low, high] = range(real);
    return values.map((v) => (v === null ? null : high > low ? (v - low) / (high - low) : 1));
  }

  function slice(data, cut) {
    const { x, layers } = cut;
    const mode = x.labels.length ? "markers" : "lines";
    const ids = data.drawn();
    const k = data.names.indexOf(x.name);
    const at = ids.map((id) => data.at(k, id));
    const plain = { type: "scatter", hoverinfo: "skip" };
    const traces = [];
    if (mode === "lines") {
      traces.push({ ...plain, mode, x: x.at, y: layers.low, line: { width: 0 } });
      traces.push({ ...plain, mode, x: x.at, y: layers.high, line: { width: 0 }, fill: "tonexty", fillcolor: "rgba(0,114,178,0.15)" });
    }
    traces.push({
      type: "scatter", mode, x: x.at, y: layers.mean, line: { color: BLUE, width: 2 }, marker: { color: BLUE, symbol: "square", size: 8 },
      error_y: mode === "markers" ? {
        type: "data", symmetric: false,
        array: layers.mean.map((m, i) => (m === null ? 0 : layers.high[i] - m)),
        arrayminus: layers.mean.map((m, i) => (m === null ? 0 : m - layers.low[i])),
      } : undefined,
      hovertemplate: "predicted %{y:.4g}<extra></extra>",
    });
    traces.push(dots(data, at, ids.map((id) => data.value(id)), ids, 0.7));
    const lower = { type: "scatter", mode, x: x.at, yaxis: "y2" };
    traces.push({ ...lower, y: layers.credit, line: { color: RED, width: 1.5 }, marker: { color: RED, size: 7 },
      hovertemplate: "credit field %{y:.2f}<extra></extra>" });
    const acts = data.analysis.acts || data.bounded, how = data.bounded ? ["weighted", "not weighted"] : ["with credit", "without credit"];
    traces.push({ ...lower, y: share(acts ? layers.weighted : layers.base), line: { color: GREEN, width: 2 }, marker: { color: GREEN, symbol: "square", size: 7 },
      hovertemplate: `acquisition${acts ? ` ${how[0]}` : ""}, share of its highest %{y:.2f}<extra></extra>` });
    if (acts) {
      traces.push({ ...lower, y: share(layers.base), line: { color: GREEN, width: 1.2, dash: "dot" }, marker: { color: GREEN, symbol: "x", size: 6 },
        hovertemplate: `acquisition ${how[1]}, share of its highest %{y:.2f}<extra></extra>` });
    }
    if (layers.feasibility) {
      traces.push({ ...lower, y: layers.feasibility, line: { color: PURPLE, width: 1.5, dash: "dash" }, marker: { color: PURPLE, symbol: "diamond", size: 7 },
        hovertemplate: "probability of being feasible %{y:.2f}<extra></extra>" });
    }
    const bound = data.metric === null ? undefined : data.metrics.constraints[data.metric];
    for (const end of bound ? [bound.low, bound.high].filter((v) => v !== null) : []) {
      traces.push({ type: "scatter", mode: "lines", x: [x.at[0], x.at[x.at.length - 1]], y: [end, end], line: { color: PURPLE, width: 1.2, dash: "dash" }, hovertemplate: `bound ${number(end)}<extra></extra>` });
    }
    return [traces, layout({
      margin: { l: 48, r: 8, t: 6, b: 40 },
      xaxis: { ...axisOf(x), ...(x.labels.length ? choices(x.labels) : {}), anchor: "y2" },
      yaxis: { domain: [0.36, 1], range: cut.window },
      yaxis2: { domain: [0, 0.28], range: [-0.06, 1.1], gridcolor: GRID, zeroline: false, tickvals: [0, 1], automargin: true },
    })];
  }

  function overTime(history) {
    const rows = history.id.map((_, i) => i + 1);
    const trace = {
      type: "heatmap", x: history.after, y: rows, z: history.credit, zmin: 0, zmax: 1, colorscale: "Cividis",
      customdata: history.id.map((id) => history.after.map(() => id)), hoverongaps: false,
      colorbar: { title: { text: "credit", side: "right" }, thickness: 10, outlinewidth: 0, len: 0.95 },
      hovertemplate: "trial %{customdata}<br>after %{x} observations: credit %{z:.2f}<extra></extra>",
    };
    return [[trace], layout({
      xaxis: { title: { text: "after this many observations" }, showgrid: false },
      yaxis: {
        title: { text: rows.length < history.of ? `the ${rows.length} with the most credit` : "observation" }, showgrid: false,
        showticklabels: rows.length === history.of,
      },
    })];
  }

  function unitOf(p, at) {
    if (p.type === "categorical") return (at + 0.5) / p.choices.length;
    if (p.low === p.high) return 0.5;
    if (p.log) return (Math.log(at) - Math.log(p.low)) / (Math.log(p.high) - Math.log(p.low));
    return (at - p.low) / (p.high - p.low);
  }

  // Every axis of parallel coordinates: where a trial lies on it, what stands beside it, and what of it is allowed.
  function parallelAxes(data, ids) {
    const parameter = ([p, j]) => ({
      name: p.name,
      height: (id) => { const at = data.at(j, id); return at === null ? null : unitOf(p, at); },
      marks: p.type === "categorical" ? p.labels.map((text, i) => [(i + 0.5) / p.labels.length, text]) : [[0, number(p.low, 4)], [1, number(p.high, 4)]],
    });
    const metric = (of, name) => {
      const values = ids.map((id) => of.value(id)).filter((v) => v !== null);
      const window = of.window(), [least, most] = values.length ? range(values) : [0, 0];
      const [low, high] = window ? [Math.max(window[0], least), Math.min(window[1], most)] : [least, most];
      const height = (value) => (high > low ? Math.min(Math.max((value - low) / (high - low), 0), 1) : 0.5);
      const bound = of.metric === null ? undefined : data.metrics.constraints[name];
      return {
        name, measured: true,
        height: (id) => { const value = of.value(id); return value === null ? null : height(value); },
        marks: values.length ? [[0, `${least < low ? "≤ " : ""}${number(low, 4)}`], [1, `${most > high ? "≥ " : ""}${number(high, 4)}`]] : [],
        allowed: bound && values.length && !(bound.low > high || (bound.high !== null && bound.high < low))
          ? [bound.low === null ? 0 : height(bound.low), bound.high === null ? 1 : height(bound.high)] : null,
      };
    };
    const parameters = data.study.parameters.map((p, j) => [p, j]).filter(([p]) => p.searched).map(parameter);
    return [...parameters, ...(data.metrics === null ? [metric(data, "value")] : data.metrics.names.map((name) => metric(data.of(name), name)))];
  }

  function parallel(data, width) {
    const ids = data.drawn(), axes = parallelAxes(data, ids);
    const kept = ids.filter((id) => data.feasible(id) !== false), broke = ids.filter((id) => data.feasible(id) === false);
    const order = ccgbo.plots.byMerit(data, kept);
    const bins = Math.min(8, order.length);
    const lines = (part, style) => {
      const trace = { type: "scatter", mode: "lines", x: [], y: [], text: [], hovertemplate: "%{text}<extra></extra>", connectgaps: false, ...style };
      for (const id of part) {
        const text = data.hover(id);
        axes.forEach((axis, k) => {
          const y = axis.height(id);
          if (y === null) return;  // inactive or not measured: the line passes by
          trace.x.push(k);
          trace.y.push(y);
          trace.text.push(text);
        });
        trace.x.push(null);
        trace.y.push(null);
        trace.text.push(null);
      }
      return trace;
    };
    const traces = broke.length ? [lines(broke, { line: { color: GREY, width: 1, dash: "dot" }, opacity: 0.6 })] : [];
    for (let b = 0; b < bins; b += 1) {
      const part = order.slice(Math.floor((b * order.length) / bins), Math.floor(((b + 1) * order.length) / bins));
      traces.push(lines(part, { line: { color: shade(bins === 1 ? 1 : b / (bins - 1)), width: b === bins - 1 ? 1.8 : 1 }, opacity: 0.25 + (0.65 * (b + 1)) / bins }));
    }
    const marks = axes.flatMap((axis, k) => axis.marks.map(([y, text]) =>
      ({ x: k, y, text: short(text, 14), showarrow: false, xanchor: "left", xshift: 3, font: { size: 11 }, bgcolor: VEIL })));
    // names stand upright below their axes where there is room, and else slant to the right, away from the edge
    const widest = Math.max(...axes.map((axis) => Math.min([...axis.name].length, 14)), 5) * 7;
    const slanted = widest > (width - 84) / (axes.length - 0.8);
    return [traces, layout({
      margin: { l: slanted ? 24 : Math.max(24, widest / 2), r: 60, t: 30, b: 44 },
      xaxis: {
        tickangle: slanted ? 40 : 0,
        tickvals: axes.map((_, k) => k), ticktext: axes.map((axis) => (axis.measured ? `<b>${short(axis.name, 14)}</b>` : short(axis.name, 14))),
        range: [-0.08, axes.length - 0.88], gridcolor: GREY,
      },
      yaxis: { visible: false, range: [-0.06, 1.06] },
      annotations: marks,
      shapes: axes.flatMap(({ allowed }, k) => (allowed ? [{ type: "line", x0: k, x1: k, y0: allowed[0], y1: allowed[1], line: { color: GREEN, width: 5 }, opacity: 0.6 }] : [])),
    })];
  }

  function shade(t) {
    // Viridis from the end that is near the ground to the other: the best stand out
    const stops = [[180, 222, 44], [53, 183, 121], [33, 145, 140], [49, 104, 142], [68, 1, 84]];
    if (matchMedia("screen and (prefers-color-scheme: dark)").matches) stops.reverse();
    const at = t * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    return `rgb(${stops[i].map((c, k) => Math.round(c + (at - i) * (stops[i + 1][k] - c))).join(",")})`;
  }

  function blank(text) {
    const note = { text: label(text), showarrow: false, x: 0.5, y: 0.5, xref: "paper", yref: "paper", font: { color: GREY } };
    return [[], layout({ xaxis: { visible: false }, yaxis: { visible: false }, annotations: [note] })];
  }

  function importance(shares) {
    const shown = shares.slice(0, 15).reverse();
    const trace = {
      type: "bar", orientation: "h", y: shown.map((_, i) => i), x: shown.map((s) => s[1]), marker: { color: BLUE },
      text: shown.map((s) => `${Math.round(100 * s[1])} %`), textposition: "outside", cliponaxis: false,
      customdata: shown.map((s) => label(s[0])), hovertemplate: "%{customdata}: %{text}<extra></extra>",
    };
    return [[trace], layout({
      margin: { l: 30, r: 46, t: 30, b: 44 },
      xaxis: { rangemode: "tozero", tickformat: ".0%" },
      yaxis: { tickvals: shown.map((_, i) => i), ticktext: shown.map((s) => short(s[0])), showgrid: false },
    })];
  }

  // -- a plot that is drawn when it comes into view

  const plots = new Set();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const plot of plots) if (plot.last !== null) plot.set(plot.last);
  });

  class Plot {
    constructor(name, kind = "", config = CONFIG) {
      this.config = config;
      this.node = el("div", { class: `plot ${kind}`, role: "figure", "aria-label": name });
      this.make = this.last = null;
      plots.add(this);
      this.visible = this.queued = false;
      new IntersectionObserver((entries) => {
        this.visible = entries[entries.length - 1].isIntersecting;
        this.draw();
      }, { rootMargin: "200px" }).observe(this.node);
      new ResizeObserver(() => {
        if (this.node.data) Plotly.Plots.resize(this.node);
      }).observe(this.node);
    }
    set(make) {
      this.make = this.last = make;
      this.draw();
    }
    draw() {
      if (!this.visible || this.make === null || this.queued) return;
      this.queued = true;
      requestAnimationFrame(() => setTimeout(() => {  // after a paint: words and numbers are there before pictures
        this.queued = false;
        if (this.make === null) return;
        if (!window.Plotly) return setTimeout(() => this.draw(), 50);  // it is large and may still be loading
        colors();
        const [traces, lay] = this.make(this.node.clientWidth);
        this.make = null;
        Plotly.react(this.node, traces, lay, this.config);
      }));
    }
  }

  return { LAYERS, Plot, blank, colors, importance, layout, map, overTime, parallel, progress, size, slice };
})();
