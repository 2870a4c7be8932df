// The views of a study, the same in the report and in the dashboard.
//
// Nothing here reads the network. Text from a study reaches the page as text nodes only (el), and plotly, which reads
// a little HTML in its labels, gets it escaped (label).
"use strict";

const ccgbo = (() => {
  const BLUE = "#0072B2", RED = "#D55E00", GREEN = "#009E73", GREY = "#7b8794", INK = "#1f2933";
  const PAGE_ROWS = 50;
  const LAYERS = {
    mean: ["predicted value", "Viridis"],
    std: ["uncertainty (standard deviation)", "Cividis"],
    credit: ["credit field", "Cividis"],
    base: ["base acquisition", "Viridis"],
    weighted: ["acquisition with credit", "Viridis"],
  };

  // -- small tools

  function el(tag, props, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(props || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (key === "class") node.className = value;
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  function fill(node, ...children) {
    node.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  // Children in this order; those that are in place are not touched, so that they keep the focus.
  function arrange(node, children) {
    children.forEach((child, i) => {
      if (node.children[i] !== child) node.insertBefore(child, node.children[i] || null);
    });
    while (node.children.length > children.length) node.lastElementChild.remove();
  }

  function say(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  function label(text) {
    return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  function number(value, digits = 5) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(digits)));
  }

  function count(n, word) {
    return `${n} ${word}${n === 1 ? "" : "s"}`;
  }

  // -- the data, looked up by trial

  class Data {
    constructor(study, analysis) {
      this.study = study;
      this.analysis = analysis || {};
      this.trials = study.trials;
      this.names = study.parameters.map((p) => p.name);
      this.row = new Map(study.trials.id.map((id, i) => [id, i]));
      const credits = this.analysis.credits || { id: [] };
      this.credit = new Map(
        credits.id.map((id, i) => [
          id,
          { credit: credits.credit[i], score: credits.score[i], mean: credits.mean[i], std: credits.std[i] },
        ])
      );
    }
    complete() {
      return this.trials.id.filter((_, i) => this.trials.state[i] === "complete");
    }
    value(id) {
      return this.trials.value[this.row.get(id)];
    }
    creditOf(id) {
      const found = this.credit.get(id);
      return found === undefined ? null : found.credit;
    }
    params(id) {
      const i = this.row.get(id);
      return this.names
        .map((name, j) => [name, this.trials.params[j][i], this.trials.at[j][i]])
        .filter((entry) => entry[2] !== null)
        .map(([name, value]) => [name, value]);
    }
    hover(id) {
      const lines = [`<b>trial ${id}</b>`, `value ${number(this.value(id))}`];
      const credit = this.creditOf(id);
      lines.push(credit === null ? "credit not computed yet" : `credit ${credit.toFixed(2)}`);
      const params = this.params(id);
      for (const [name, value] of params.slice(0, 8)) lines.push(`${label(name)} = ${label(number(value))}`);
      if (params.length > 8) lines.push(`… and ${params.length - 8} more`);
      return lines.join("<br>");
    }
    better(a, b) {
      return this.study.direction === "maximize" ? a > b : a < b;
    }
  }

  // -- plots: each gives [traces, layout]

  const FONT = { family: "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif", size: 12, color: INK };
  const CONFIG = {
    displayModeBar: "hover",
    displaylogo: false,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  function layout(more) {
    const axis = { gridcolor: "#e8ebef", zeroline: false, automargin: true };
    return {
      font: FONT,
      margin: { l: 54, r: 14, t: 30, b: 44 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hovermode: "closest",
      hoverlabel: { bgcolor: "#fff", bordercolor: "#9aa5b1", font: { color: INK, size: 12 } },
      showlegend: false,
      modebar: { bgcolor: "rgba(255,255,255,0.85)", color: GREY, activecolor: INK },
      ...more,
      xaxis: { ...axis, ...(more.xaxis || {}) },
      yaxis: { ...axis, ...(more.yaxis || {}) },
    };
  }

  function size(credit, scale = 1) {
    return scale * (credit === null ? 6 : 5 + 11 * credit * credit);
  }

  function axisOf(a) {
    const out = { title: { text: label(a.name), standoff: 8 } };
    if (a.labels.length) {
      return { ...out, tickvals: a.labels.map((_, i) => i), ticktext: a.labels.map(label), type: "linear" };
    }
    return a.log ? { ...out, type: "log", exponentformat: "power", dtick: 1 } : out;
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
        size: credit.map((c) => size(c, scale)),
        color: RED,
        opacity: 0.9,
        line: { color: "#fff", width: 1 },
      },
    };
  }

  function progress(data) {
    const ids = data.complete();
    let best = null;
    const line = ids.map((id) => {
      const value = data.value(id);
      if (best === null || data.better(value, best)) best = value;
      return best;
    });
    const credit = ids.map((id) => data.creditOf(id));
    const failed = data.trials.id.filter((_, i) => data.trials.state[i] === "failed");
    const known = credit.some((c) => c !== null);
    const traces = [
      { type: "scatter", mode: "lines", x: ids, y: line, line: { shape: "hv", color: BLUE, width: 2 }, hoverinfo: "skip" },
      dots(data, ids, ids.map((id) => data.value(id)), ids),
    ];
    traces[1].marker.color = credit.map((c) => (c === null ? 0 : c));
    Object.assign(traces[1].marker, {
      colorscale: "Cividis", cmin: 0, cmax: 1, showscale: known, line: { color: "#5b6672", width: 0.6 },
      colorbar: { title: { text: "credit", side: "right" }, thickness: 10, outlinewidth: 0, len: 0.9 },
    });
    if (failed.length) {
      traces.push({
        type: "scatter", mode: "markers", x: failed, y: failed.map(() => 0.02), yaxis: "y2",
        marker: { symbol: "x", color: RED, size: 7 }, hovertemplate: "trial %{x} failed<extra></extra>",
      });
    }
    const proxy = data.analysis.proxy;
    if (ids.length && typeof proxy === "number") {
      traces.push({
        type: "scatter", mode: "lines", x: [ids[0], ids[ids.length - 1]], y: [proxy, proxy],
        line: { color: RED, dash: "dot", width: 1.5 }, hovertemplate: "estimated optimum %{y}<extra></extra>",
      });
    }
    return [traces, layout({
      xaxis: { title: { text: "trial" } },
      yaxis: { title: { text: "value" } },
      yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true },
    })];
  }

  function map(data, cut, layer) {
    const [title, colorscale] = LAYERS[layer];
    const ids = data.complete();
    const [i, j] = [data.names.indexOf(cut.x.name), data.names.indexOf(cut.y.name)];
    const at = (k) => ids.map((id) => data.trials.at[k][data.row.get(id)]);
    const traces = [
      {
        type: "heatmap", x: cut.x.at, y: cut.y.at, z: cut.layers[layer], colorscale, hoverongaps: false,
        colorbar: { thickness: 10, outlinewidth: 0, len: 0.95 },
        hovertemplate: `${label(cut.x.name)} %{x}<br>${label(cut.y.name)} %{y}<br>${title} %{z:.4g}<extra></extra>`,
      },
      dots(data, at(i), at(j), ids),
    ];
    return [traces, layout({ xaxis: { ...axisOf(cut.x), showgrid: false }, yaxis: { ...axisOf(cut.y), showgrid: false } })];
  }

  function share(values) {
    const real = values.filter((v) => v !== null);
    const [low, high] = [Math.min(...real), Math.max(...real)];
    return values.map((v) => (v === null ? null : high > low ? (v - low) / (high - low) : 1));
  }

  function slice(data, cut) {
    const { x, layers } = cut;
    const mode = x.labels.length ? "markers" : "lines";
    const band = (sign) => layers.mean.map((m, i) => (m === null ? null : m + sign * 1.96 * layers.std[i]));
    const ids = data.complete();
    const k = data.names.indexOf(x.name);
    const at = ids.map((id) => data.trials.at[k][data.row.get(id)]);
    const plain = { type: "scatter", hoverinfo: "skip" };
    const traces = [];
    if (mode === "lines") {
      traces.push({ ...plain, mode, x: x.at, y: band(-1), line: { width: 0 } });
      traces.push({ ...plain, mode, x: x.at, y: band(1), line: { width: 0 }, fill: "tonexty", fillcolor: "rgba(0,114,178,0.15)" });
    }
    traces.push({
      type: "scatter", mode, x: x.at, y: layers.mean, line: { color: BLUE, width: 2 }, marker: { color: BLUE, symbol: "square", size: 8 },
      error_y: mode === "markers" ? { type: "data", array: layers.std.map((s) => (s === null ? 0 : 1.96 * s)) } : undefined,
      hovertemplate: "predicted %{y:.4g}<extra></extra>",
    });
    traces.push(dots(data, at, ids.map((id) => data.value(id)), ids, 0.7));
    const lower = { type: "scatter", mode, x: x.at, yaxis: "y2" };
    traces.push({ ...lower, y: layers.credit, line: { color: RED, width: 1.5 }, marker: { color: RED, size: 7 },
      hovertemplate: "credit field %{y:.2f}<extra></extra>" });
    traces.push({ ...lower, y: share(layers.weighted), line: { color: GREEN, width: 2 }, marker: { color: GREEN, symbol: "square", size: 7 },
      hovertemplate: "acquisition with credit, share of its maximum %{y:.2f}<extra></extra>" });
    traces.push({ ...lower, y: share(layers.base), line: { color: GREEN, width: 1.2, dash: "dot" }, marker: { color: GREEN, symbol: "x", size: 6 },
      hovertemplate: "acquisition without credit, share of its maximum %{y:.2f}<extra></extra>" });
    return [traces, layout({
      margin: { l: 48, r: 8, t: 6, b: 40 },
      xaxis: { ...axisOf(x), anchor: "y2" },
      yaxis: { domain: [0.36, 1] },
      yaxis2: { domain: [0, 0.28], range: [-0.06, 1.1], gridcolor: "#e8ebef", zeroline: false, tickvals: [0, 1], automargin: true },
    })];
  }

  function overTime(data, history) {
    const rows = history.id.map((_, i) => i + 1);
    const trace = {
      type: "heatmap", x: history.after, y: rows, z: history.credit, zmin: 0, zmax: 1, colorscale: "Cividis",
      customdata: history.id.map((id) => history.after.map(() => id)), hoverongaps: false,
      colorbar: { title: { text: "credit", side: "right" }, thickness: 10, outlinewidth: 0, len: 0.95 },
      hovertemplate: "trial %{customdata}<br>after %{x} observations: credit %{z:.2f}<extra></extra>",
    };
    return [[trace], layout({
      xaxis: { title: { text: "after this many observations" }, showgrid: false },
      yaxis: { title: { text: "observation" }, showgrid: false },
    })];
  }

  function unitOf(p, at) {
    if (at === null) return null;
    if (p.type === "categorical") return (at + 0.5) / p.choices.length;
    if (p.low === p.high) return 0.5;
    if (p.log) return (Math.log(at) - Math.log(p.low)) / (Math.log(p.high) - Math.log(p.low));
    return (at - p.low) / (p.high - p.low);
  }

  function parallel(data) {
    const shown = data.study.parameters.map((p, j) => [p, j]).filter(([p]) => p.searched);
    const ids = data.complete();
    const values = ids.map((id) => data.value(id));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const order = ids.map((_, i) => i).sort((a, b) => (data.better(values[a], values[b]) ? 1 : -1));
    const bins = Math.min(8, ids.length);
    const traces = [];
    for (let b = 0; b < bins; b += 1) {
      const part = order.slice(Math.floor((b * ids.length) / bins), Math.floor(((b + 1) * ids.length) / bins));
      const trace = { type: "scatter", mode: "lines", x: [], y: [], text: [], hovertemplate: "%{text}<extra></extra>",
        line: { color: shade(bins === 1 ? 1 : b / (bins - 1)), width: b === bins - 1 ? 1.8 : 1 }, opacity: 0.25 + (0.65 * (b + 1)) / bins,
        connectgaps: false };
      for (const i of part) {
        const text = data.hover(ids[i]);
        shown.forEach(([p, j], k) => {
          trace.x.push(k);
          trace.y.push(unitOf(p, data.trials.at[j][data.row.get(ids[i])]));
          trace.text.push(text);
        });
        trace.x.push(shown.length, null);
        trace.y.push(high > low ? (values[i] - low) / (high - low) : 0.5, null);
        trace.text.push(text, null);
      }
      traces.push(trace);
    }
    const marks = [];
    const mark = (k, y, text) =>
      marks.push({ x: k, y, text: label(text), showarrow: false, xanchor: "left", xshift: 3, font: { size: 11 }, bgcolor: "rgba(255,255,255,0.75)" });
    shown.forEach(([p], k) => {
      if (p.type === "categorical") p.labels.forEach((text, i) => mark(k, (i + 0.5) / p.labels.length, text));
      else [[0, p.low], [1, p.high]].forEach(([y, text]) => mark(k, y, number(text, 4)));
    });
    if (ids.length) [[0, low], [1, high]].forEach(([y, text]) => mark(shown.length, y, number(text, 4)));
    return [traces, layout({
      margin: { l: 24, r: 60, t: 30, b: 44 },
      xaxis: {
        tickvals: [...shown.map((_, k) => k), shown.length], ticktext: [...shown.map(([p]) => label(p.name)), "<b>value</b>"],
        range: [-0.08, shown.length + 0.12], gridcolor: "#9aa5b1",
      },
      yaxis: { visible: false, range: [-0.06, 1.06] },
      annotations: marks,
    })];
  }

  function shade(t) {
    // Viridis from its light end to its dark end: the best are darkest
    const stops = [[180, 222, 44], [53, 183, 121], [33, 145, 140], [49, 104, 142], [68, 1, 84]];
    const at = t * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    return `rgb(${stops[i].map((c, k) => Math.round(c + (at - i) * (stops[i + 1][k] - c))).join(",")})`;
  }

  function importance(data, shares) {
    const shown = shares.slice(0, 15).reverse();
    const trace = {
      type: "bar", orientation: "h", y: shown.map((_, i) => i), x: shown.map((s) => s[1]), marker: { color: BLUE },
      text: shown.map((s) => `${Math.round(100 * s[1])} %`), textposition: "outside", cliponaxis: false,
      hovertemplate: "%{text}<extra></extra>",
    };
    return [[trace], layout({
      margin: { l: 30, r: 46, t: 30, b: 44 },
      xaxis: { title: { text: "share of the predicted variation it takes part in" }, rangemode: "tozero", tickformat: ".0%" },
      yaxis: { tickvals: shown.map((_, i) => i), ticktext: shown.map((s) => label(s[0])), showgrid: false },
    })];
  }

  // -- a plot that is drawn when it comes into view

  class Plot {
    constructor(name, kind = "", config = CONFIG) {
      this.config = config;
      this.node = el("div", { class: `plot ${kind}`, role: "img", "aria-label": name });
      this.make = null;
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
      this.make = make;
      this.draw();
    }
    draw() {
      if (!this.visible || this.make === null || this.queued) return;
      this.queued = true;
      requestAnimationFrame(() => setTimeout(() => {  // after a paint: words and numbers are there before pictures
        this.queued = false;
        if (this.make === null) return;
        if (!window.Plotly) return setTimeout(() => this.draw(), 50);  // it is large and may still be loading
        const [traces, lay] = this.make();
        this.make = null;
        Plotly.react(this.node, traces, lay, this.config);
      }));
    }
  }

  function card(span, title, note, ...children) {
    return el("section", { class: `card span-${span}` }, el("h2", null, title), note ? el("p", { class: "note" }, note) : null, ...children);
  }

  function legend(...entries) {
    return el("p", { class: "legend" }, ...entries.map(([kind, text]) => el("span", null, el("i", { class: kind, "aria-hidden": "true" }), text)));
  }

  // -- words and tables

  function tile(name, value, more) {
    return el("div", { class: "tile" }, el("div", { class: "label" }, name), el("div", { class: "value" }, value), el("div", { class: "more" }, more));
  }

  function tiles(node, data) {
    const { study, analysis } = data;
    const states = { complete: 0, pending: 0, failed: 0 };
    for (const state of study.trials.state) states[state] += 1;
    const best = study.best === null ? null : data.value(study.best);
    const rec = analysis.recommended;
    fill(
      node,
      tile("best value", number(best), best === null ? "no value yet" : `trial ${study.best}, ${study.direction}d`),
      tile("recommended", rec ? number(rec.mean) : "–", rec ? `trial ${rec.id}, ± ${number(rec.std, 2)} by the model` : "needs a value"),
      tile("trials", String(states.complete), `complete · ${states.pending} pending · ${states.failed} failed`),
      tile("estimated optimum", number(analysis.proxy), "mean of the maxima of posterior paths")
    );
  }

  function settings(body, data) {
    const { study, analysis } = data;
    if (study.best === null) {
      fill(body, el("tr", null, el("td", { colspan: "3" }, "no value yet")));
      return;
    }
    const best = new Map(data.params(study.best));
    const rec = analysis.recommended && data.row.has(analysis.recommended.id) ? new Map(data.params(analysis.recommended.id)) : new Map();
    const cell = (params, name) => el("td", { class: "num" }, params.has(name) ? number(params.get(name)) : "–");
    fill(body, ...data.names.map((name) => el("tr", null, el("th", { scope: "row" }, name), cell(best, name), cell(rec, name))));
  }

  function story(node, data) {
    const told = data.analysis.story;
    if (!told) {
      fill(node, el("p", { class: "note" }, data.analysis.message || "The credits are being computed …"));
      return;
    }
    fill(
      node,
      el("p", null, told.headline),
      el("ol", { class: "story" }, ...told.chapters.map((c) =>
        el("li", null,
          el("span", { class: "who" }, `Trial ${c.id}`),
          ` · value ${number(c.value)} · credit ${c.credit.toFixed(2)}`,
          bar(c.credit),
          el("div", null, `… ${c.because.join("; ")}.`),
          params(data.row.has(c.id) ? data.params(c.id) : [])
        )
      )),
      el("p", { class: "note" }, told.strength)
    );
  }

  function bar(credit) {
    const node = el("span", { class: "bar", "aria-hidden": "true" });
    node.style.width = `${Math.round(60 * credit)}px`;
    return node;
  }

  function params(entries) {
    return el("dl", { class: "params" }, ...entries.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, number(value)))));
  }

  // -- the table of all trials

  class Table {
    constructor() {
      this.sort = { key: "id", down: false };
      this.page = 0;
      this.filter = el("select", { onchange: () => { this.page = 0; this.draw(); } },
        ...["all", "complete", "pending", "failed"].map((s) => el("option", { value: s }, s)));
      this.head = el("tr");
      this.body = el("tbody");
      this.where = el("span", { class: "note", "aria-live": "polite" });
      this.before = el("button", { type: "button", onclick: () => this.turn(-1) }, "← previous");
      this.after = el("button", { type: "button", onclick: () => this.turn(1) }, "next →");
      this.dialog = el("dialog", { "aria-label": "why this point was suggested" });
      this.keys = "";
      this.lines = new Map();
      this.node = el("div", null,
        el("div", { class: "controls" },
          el("label", null, "show ", this.filter),
          el("button", { type: "button", onclick: () => download("trials.csv", "text/csv", csv(this.data)) }, "CSV"),
          el("button", { type: "button", onclick: () => download("trials.json", "application/json", plainJson(this.data)) }, "JSON")
        ),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "all trials" },
          el("table", { id: "trials" }, el("thead", null, this.head), this.body)),
        el("div", { class: "controls" }, this.before, this.after, this.where),
        this.dialog
      );
    }
    update(data) {
      this.data = data;
      this.columns = [
        ["id", "trial", (id) => id],
        ["state", "state", (id) => data.trials.state[data.row.get(id)]],
        ["value", "value", (id) => data.value(id)],
        ["credit", "credit", (id) => data.creditOf(id)],
        ...data.names.map((name, j) => [`p${j}`, name, (id) => data.trials.at[j][data.row.get(id)], (id) => data.trials.params[j][data.row.get(id)]]),
      ];
      const keys = JSON.stringify([data.study.name, ...this.columns.map((c) => c[1])]);
      if (keys !== this.keys) {  // another study
        this.keys = keys;
        this.lines = new Map();
        this.sort = { key: "id", down: false };
        fill(this.head, ...this.columns.map(([key, name]) =>
          el("th", { scope: "col", "data-key": key, class: this.numeric(key) ? "num" : "" }, el("button", { type: "button", onclick: () => this.by(key) }, name))),
          el("th", { scope: "col" }, "note"));
      }
      this.draw();
    }
    numeric(key) {
      if (key === "state") return false;
      if (!key.startsWith("p")) return true;
      return this.data.study.parameters[Number(key.slice(1))].type !== "categorical";
    }
    by(key) {
      this.sort = { key, down: this.sort.key === key ? !this.sort.down : key === "credit" || (key === "value" && this.data.study.direction === "maximize") };
      this.page = 0;
      this.draw();
    }
    turn(step) {
      this.page += step;
      this.draw();
    }
    rows() {
      const { key, down } = this.sort;
      const get = this.columns.find((c) => c[0] === key)[2];
      const wanted = this.filter.value;
      const ids = this.data.trials.id.filter((id) => wanted === "all" || this.data.trials.state[this.data.row.get(id)] === wanted);
      const of = new Map(ids.map((id) => [id, get(id)]));
      return ids.sort((a, b) => {
        const [x, y] = [of.get(a), of.get(b)];
        if (x === y) return a - b;
        if (x === null || x === undefined) return 1;  // what is missing comes last either way
        if (y === null || y === undefined) return -1;
        return (x < y ? -1 : 1) * (down ? -1 : 1);
      });
    }
    draw() {
      const rows = this.rows();
      const pages = Math.max(Math.ceil(rows.length / PAGE_ROWS), 1);
      this.page = Math.min(Math.max(this.page, 0), pages - 1);
      const from = this.page * PAGE_ROWS;
      for (const th of this.head.children) {
        if (th.dataset.key === this.sort.key) th.setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
        else th.removeAttribute("aria-sort");
      }
      arrange(this.body, rows.slice(from, from + PAGE_ROWS).map((id) => this.line(id)));
      this.before.disabled = this.page === 0;
      this.after.disabled = this.page === pages - 1;
      this.where.textContent = rows.length ? `${from + 1}–${Math.min(from + PAGE_ROWS, rows.length)} of ${rows.length}` : "no trials";
    }
    // A row is made once and kept: a credit that changes must not take the focus from a button beside it.
    line(id) {
      if (!this.lines.has(id)) {
        const cells = this.columns.map(([key]) => el("td", { class: this.numeric(key) ? "num" : "" }));
        cells[1].append(el("span"));
        const error = el("span");
        const why = this.data.trials.why[id];
        const button = why ? el("button", { type: "button", "aria-label": `why trial ${id}`, onclick: () => this.explain(id, why) }, "why?") : null;
        this.lines.set(id, { row: el("tr", null, ...cells, el("td", null, error, button)), cells, error });
      }
      const { row, cells, error } = this.lines.get(id);
      this.columns.forEach(([key, , get, show], i) => {
        const value = get(id);
        if (key === "state") {
          cells[i].firstChild.className = `state ${value}`;
          say(cells[i].firstChild, value);
        } else {
          say(cells[i], value === null ? "–" : key === "credit" ? value.toFixed(2) : number(show ? show(id) : value));
        }
      });
      say(error, this.data.trials.error[id] || "");
      return row;
    }
    explain(id, why) {
      fill(this.dialog, el("h2", null, `Why trial ${id}?`), el("pre", null, why),
        el("form", { method: "dialog" }, el("button", { class: "primary" }, "close")));
      this.dialog.showModal();
    }
  }

  function download(name, type, text) {
    const link = el("a", { download: name });
    link.href = URL.createObjectURL(new Blob([text], { type }));
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function csv(data) {
    const quote = (value) => {
      if (value === null || value === undefined) return "";
      if (typeof value === "number") return String(value);
      const text = String(value);
      return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`;  // no formulas in spreadsheets
    };
    const head = ["id", "state", "value", "credit", ...data.names, "error"];
    const lines = data.trials.id.map((id, i) =>
      [id, data.trials.state[i], data.trials.value[i], data.creditOf(id), ...data.names.map((_, j) => data.trials.params[j][i]), data.trials.error[id]].map(quote).join(","));
    return [head.map(quote).join(","), ...lines].join("\r\n") + "\r\n";
  }

  function plainJson(data) {
    return JSON.stringify(data.trials.id.map((id, i) => ({
      id, state: data.trials.state[i], value: data.trials.value[i], credit: data.creditOf(id), params: Object.fromEntries(data.params(id)),
      error: data.trials.error[id] || null,
    })), null, 1);
  }

  function reproduce(node, info) {
    const text = (title, body) => [el("h3", null, title), el("pre", { tabindex: "0" }, body)];
    fill(
      node,
      el("p", null, Object.entries(info.versions).map(([name, version]) => `${name} ${version}`).join(" · ")),
      ...(info.shell.length ? text("This page again", info.shell.join("\n")) : []),
      ...text("In Python", info.code),
      el("details", null, el("summary", null, "every setting"), el("pre", { tabindex: "0" }, info.settings)),
      el("details", null, el("summary", null, "the search space (space.json)"), el("pre", { tabindex: "0" }, info.space))
    );
  }

  // -- the page

  class MapView {
    constructor() {
      const changed = () => this.draw();
      this.x = el("select", { onchange: changed, "aria-label": "across" });
      this.y = el("select", { onchange: changed, "aria-label": "up" });
      this.layer = el("select", { onchange: changed, "aria-label": "what is shown" },
        ...Object.entries(LAYERS).map(([key, [title]]) => el("option", { value: key }, title)));
      this.plot = new Plot("map of the model with the observations", "tall");
      this.note = el("p", { class: "note" });
      this.node = el("div", { class: "filling" }, el("div", { class: "controls" }, this.layer, el("label", null, "across ", this.x), el("label", null, "up ", this.y)), this.note, this.plot.node);
      this.names = "";
    }
    update(data) {
      this.data = data;
      const maps = data.analysis.maps || [];
      const names = [...new Set(maps.flatMap((m) => [m.x.name, m.y.name]))];
      if (JSON.stringify([...names].sort()) !== this.names) {
        this.names = JSON.stringify([...names].sort());
        for (const [select, i] of [[this.x, 0], [this.y, 1]]) {
          fill(select, ...names.map((name, k) => el("option", { value: String(k) }, name)));
          select.selectedIndex = Math.min(i, names.length - 1);
        }
        this.order = names;
      }
      this.draw();
    }
    draw() {
      const maps = this.data.analysis.maps || [];
      const [x, y] = [this.x, this.y].map((s) => (this.order || [])[s.selectedIndex]);
      let cut = maps.find((m) => m.x.name === x && m.y.name === y);
      if (!cut) {
        const turned = maps.find((m) => m.x.name === y && m.y.name === x);
        if (turned) cut = transpose(turned);
      }
      this.note.textContent = cut
        ? "The other parameters are held at the recommended point; dots are the observations, sized by credit."
        : maps.length ? "Choose two different parameters." : this.data.analysis.story ? "A map needs two parameters." : "";
      if (cut) this.plot.set(() => map(this.data, cut, this.layer.value));
    }
  }

  function transpose(cut) {
    const layers = {};
    for (const [key, grid] of Object.entries(cut.layers)) layers[key] = cut.x.at.map((_, i) => grid.map((row) => row[i]));
    return { x: cut.y, y: cut.x, layers };
  }

  class Slices {
    constructor() {
      this.node = el("div", { class: "small-plots" });
      this.plots = new Map();
    }
    update(data) {
      const cuts = data.analysis.slices || [];
      const names = cuts.map((c) => c.x.name);
      for (const name of names) if (!this.plots.has(name)) this.plots.set(name, new Plot(`the model along ${name}`, "low", { displayModeBar: false }));
      const nodes = names.map((name) => this.plots.get(name).node);
      if (nodes.some((node, i) => this.node.children[i] !== node) || this.node.children.length !== nodes.length) fill(this.node, ...nodes);
      for (const cut of cuts) this.plots.get(cut.x.name).set(() => slice(data, cut));
    }
  }

  function build(root, { before = [], after = [] } = {}) {
    const tilesNode = el("div", { class: "tiles", "aria-label": "summary" });
    const settingsBody = el("tbody"), storyNode = el("div");
    const settingsNode = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "best and recommended settings" },
      el("table", null, el("thead", null, el("tr", null, ...["parameter", "best", "recommended"].map((text, i) =>
        el("th", { scope: "col", class: i ? "num" : "" }, text)))), settingsBody));
    const plots = {
      progress: new Plot("values and the best so far"),
      overTime: new Plot("credit of each observation over time", "tall"),
      parallel: new Plot("all trials in parallel coordinates", "tall"),
      importance: new Plot("importance of each parameter", "tall"),
    };
    const mapView = new MapView(), slices = new Slices(), table = new Table();
    fill(root, tilesNode, el("div", { class: "grid views" },
      ...before,
      card(8, "Progress", "Each dot is an evaluation; the larger and brighter, the more credit it has now.",
        legend(["line blue", "best so far"], ["dot", "evaluation"], ["cross", "failed"], ["line red dotted", "estimated optimum"]), plots.progress.node),
      card(4, "Best and recommended", "Recommended: the evaluated point with the best predicted value, the safer choice when values are noisy.", settingsNode),
      card(5, "The credit story", null, storyNode),
      card(7, "Inside the model", null, mapView.node),
      card(6, "Credit over time", "Which observations (rows) steered the search, after how many observations (columns).", plots.overTime.node),
      card(6, "Parameter importance", "By the model: total Sobol index of its prediction.", plots.importance.node),
      card(12, "Along each parameter", "The other parameters are held at the recommended point.",
        legend(["line blue", "prediction, 95 % band"], ["dot red", "observation, sized by credit"], ["line red", "credit field"],
          ["line green", "acquisition with credit"], ["line green dotted", "without credit"]), slices.node),
      card(12, "All evaluations", "One line per trial, the best darkest.", plots.parallel.node),
      card(12, "All trials", null, table.node),
      ...after
    ));
    return (study, analysis) => {
      const data = new Data(study, analysis);
      tiles(tilesNode, data);
      settings(settingsBody, data);
      story(storyNode, data);
      plots.progress.set(() => progress(data));
      plots.parallel.set(() => parallel(data));
      if (data.analysis.over_time) plots.overTime.set(() => overTime(data, data.analysis.over_time));
      if (data.analysis.importance) plots.importance.set(() => importance(data, data.analysis.importance));
      mapView.update(data);
      slices.update(data);
      table.update(data);
      return data;
    };
  }

  return { build, card, count, el, fill, number, params, reproduce };
})();
