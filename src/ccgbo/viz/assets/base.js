// What every view is made of: elements, numbers in words, and a study looked up by trial.
//
// Nothing here reads the network. Text from a study reaches the page as text nodes only (el, say), and plotly, which
// reads a little HTML in its labels, gets it escaped (label).
"use strict";

const ccgbo = (() => {
  const MOST_DRAWN = 1800;  // evaluations in a plot; more take seconds and hide each other

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

  // A name that fits beside an axis; hovering and the tables have it in full.
  function short(text, most = 18) {
    const letters = [...String(text)];
    return label(letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join(""));
  }

  function number(value, digits = 5) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(digits)));
  }

  function count(n) {
    return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  function range(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  }

  function everyNth(ids, most) {
    const step = Math.max(ids.length / most, 1);
    return Array.from({ length: Math.min(ids.length, most) }, (_, k) => ids[Math.floor(k * step)]);
  }

  // Hand a file to whoever looks at the page.
  function download(name, blob) {
    const link = el("a", { download: name });
    link.href = URL.createObjectURL(blob);
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // -- the data, looked up by trial

  // An object that has nothing but these: a metric may be called "constructor".
  function byName(entries) {
    return Object.assign(Object.create(null), entries);
  }

  class Data {
    constructor(study, analysis, metric = null) {
      this.study = study;
      this.metrics = study.metrics ? { names: study.metrics.names, objectives: byName(study.metrics.objectives), constraints: byName(study.metrics.constraints) } : null;
      this.metric = metric;  // of those the one that the values are of
      this.several = this.metrics !== null && Object.keys(this.metrics.objectives).length > 1;
      this.bounded = this.metrics !== null && Object.keys(this.metrics.constraints).length > 0;
      this.direction = metric === null ? study.direction : this.metrics.objectives[metric] || null;
      this.column = metric === null ? study.trials.value : study.trials.values[this.metrics.names.indexOf(metric)];
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
    // The same with the values and the model of one metric.
    of(metric) {
      if (metric === null) return this;
      const { by_metric: all, ...rest } = this.analysis, own = byName(all || {})[metric];
      const nothing = { believe: undefined, importance: undefined, slices: undefined, maps: undefined };
      if (!own) return new Data(this.study, metric === this.metrics.names[0] && !all ? rest : { ...rest, ...nothing, ...(all ? { message: `${metric} was not measured yet` } : {}) }, metric);
      const whole = (cuts, key) => cuts.map((cut, i) => ({ ...cut, layers: { ...rest[key][i].layers, ...cut.layers } }));
      return new Data(this.study, { ...rest, ...own, slices: whole(own.slices, "slices"), maps: whole(own.maps, "maps") }, metric);
    }
    measured(name, id) {
      return this.trials.values[this.metrics.names.indexOf(name)][this.row.get(id)];
    }
    // Whether every bound was kept; null where that was not measured, true where there is none.
    feasible(id) {
      return !this.bounded ? true : id in this.trials.feasible ? this.trials.feasible[id] : null;
    }
    // Where trials stand among the objectives: as the model sees it or, before it has, as they were measured.
    front() {
      if (this.analysis.front) return this.analysis.front;
      const names = Object.keys(this.metrics.objectives), id = this.complete(), on = new Set(this.study.front);
      return { names, id, at: names.map((name) => id.map((i) => this.measured(name, i))), on_front: id.map((i) => on.has(i)), feasible: id.map((i) => this.feasible(i) !== false) };
    }
    // The evaluations that count: told, not dropped, and points of the space.
    complete() {
      const any = this.several && this.metric === null;
      this.told = this.told || this.trials.id.filter((id, i) => this.trials.state[i] === "complete" && (any || this.column[i] !== null) && this.mark(id) === "");
      return this.told;
    }
    state(id) {
      return this.trials.state[this.row.get(id)];
    }
    // Why a trial is out of the model although it is on record.
    mark(id) {
      return this.trials.dropped[id] ? "dropped" : id in this.trials.outside ? "outside" : "";
    }
    // Told, but out of the model.
    apart() {
      return this.trials.id.filter((id, i) => this.trials.state[i] === "complete" && this.column[i] !== null && this.mark(id) !== "");
    }
    get timed() {
      return this.trials.asked_at.some((at) => at !== null);
    }
    // Values worth a closer look: far-off bad ones would squash all others. Null where there are none.
    window() {
      if (this.near === undefined) this.near = this.closeUp();
      return this.near;
    }
    closeUp() {
      const values = this.complete().map((id) => this.value(id)).sort((a, b) => a - b);
      if (values.length < 8) return null;
      const at = (share) => values[Math.round(share * (values.length - 1))];
      const [low, high, reach] = [values[0], values[values.length - 1], 1.5 * (at(0.75) - at(0.25))];
      if (reach === 0) return null;
      if (this.direction === null) return null;  // of what is only bounded none is better
      const up = this.direction === "maximize";
      const limit = up ? at(0.25) - reach : at(0.75) + reach;
      if (up ? low >= limit : high <= limit) return null;
      const pad = 0.06 * (up ? high - limit : limit - low);
      return up ? [limit - pad, high + pad] : [low - pad, limit + pad];
    }
    // The evaluations that plots show as dots and lines: all, or the best, the latest and every n-th of the others.
    drawn() {
      if (this.shown) return this.shown;
      const ids = this.complete();
      if (ids.length <= MOST_DRAWN) return (this.shown = ids);
      const some = Math.floor(MOST_DRAWN / 6);
      const on = new Set(this.study.front || []);
      const before = this.several ? (a, b) => on.has(b) - on.has(a) : (a, b) => (this.better(this.value(a), this.value(b)) ? -1 : 1);
      const sorted = [...ids].sort(before);
      const keep = new Set([...sorted.slice(0, some), ...ids.slice(-some)]);
      const others = ids.filter((id) => !keep.has(id));
      for (const id of everyNth(others, MOST_DRAWN - keep.size)) keep.add(id);
      return (this.shown = ids.filter((id) => keep.has(id)));
    }
    value(id) {
      return this.column[this.row.get(id)];
    }
    creditOf(id) {
      const found = this.credit.get(id);
      return found === undefined ? null : found.credit;
    }
    at(j, id) {
      return this.trials.at[j][this.row.get(id)];
    }
    setting(j, id) {
      const at = this.at(j, id), p = this.study.parameters[j];
      return at === null || p.type !== "categorical" ? at : p.choices[at];
    }
    params(id) {
      return this.names.map((name, j) => [name, j]).filter(([, j]) => this.at(j, id) !== null).map(([name, j]) => [name, this.setting(j, id)]);
    }
    hover(id) {
      const mark = this.mark(id);
      const kept = this.feasible(id) === false ? ", infeasible" : "";
      const values = this.metrics === null ? [`value ${number(this.value(id))}`] : this.metrics.names.map((name) => `${label(name)} ${number(this.measured(name, id))}`);
      const lines = [`<b>trial ${id}</b>${mark && `, ${mark}`}${kept}`, ...values];
      const credit = this.creditOf(id);
      if (mark === "") lines.push(credit === null ? "credit not computed yet" : `credit ${credit.toFixed(2)}`);
      const params = this.params(id);
      for (const [name, value] of params.slice(0, 8)) lines.push(`${label(name)} = ${label(number(value))}`);
      if (params.length > 8) lines.push(`… and ${params.length - 8} more`);
      return lines.join("<br>");
    }
    better(a, b) {
      return this.direction === "maximize" ? a > b : a < b;
    }
  }

  // A span of time in words.
  function duration(seconds) {
    if (seconds < 100) return `${number(seconds, 2)} s`;
    if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
    return seconds < 172800 ? `${number(seconds / 3600, 2)} h` : `${number(seconds / 86400, 2)} days`;
  }

  return { Data, arrange, count, download, duration, el, everyNth, fill, label, number, range, say, short };
})();
