// Views of named metrics: which of them is looked at, the front, its volume, and where the bounds are kept.
"use strict";

ccgbo.metricViews = (() => {
  const { count, el, fill, number, say } = ccgbo;

  // One choice of a metric for the whole page, in as many places as show one.
  class MetricChoice {
    constructor(changed) {
      this.changed = changed;
      this.places = [];
      this.name = null;
    }
    // A select for one card.
    place(what) {
      const select = el("select", { "aria-label": `metric, ${what}`, onchange: () => { this.name = this.names[select.selectedIndex]; this.show(); this.changed(); } });
      const node = el("div", { class: "controls" }, el("label", null, "metric ", select));
      this.places.push({ node, select });
      return node;
    }
    update(data) {
      this.names = data.metrics === null ? [] : data.metrics.names;
      if (!this.names.includes(this.name)) this.name = this.names.length ? this.names[0] : null;
      this.show();
    }
    show() {
      for (const { node, select } of this.places) {
        node.hidden = this.names.length < 2;
        ccgbo.options(select, this.names, this.name);
      }
    }
  }

  // Two objectives to choose where there are more.
  class FrontView {
    constructor(Plot) {
      this.x = el("select", { "aria-label": "objective across", onchange: () => this.chosen(this.x, this.y) });
      this.y = el("select", { "aria-label": "objective up", onchange: () => this.chosen(this.y, this.x) });
      this.controls = el("div", { class: "controls" }, el("label", null, "across ", this.x), el("label", null, "up ", this.y));
      this.plot = new Plot("trials over two objectives, with the front", "tall");
      this.note = el("p", { class: "note" });
      this.legend = el("div");
      this.node = el("div", null, this.note, this.legend, this.controls, this.plot.node);
    }
    // Both must differ: what is chosen stays, the other moves on.
    chosen(now, other) {
      if (now.selectedIndex === other.selectedIndex) other.selectedIndex = (now.selectedIndex + 1) % this.names.length;
      this.draw();
    }
    update(data) {
      this.data = data;
      if (!data.several) return;
      this.names = Object.keys(data.metrics.objectives);
      const at = (select, i) => (this.names[select.selectedIndex] || this.names[i]);
      const [x, y] = [at(this.x, 0), at(this.y, 1)];
      ccgbo.options(this.x, this.names, x);
      ccgbo.options(this.y, this.names, y);
      this.controls.hidden = this.names.length < 3;
      this.draw();
    }
    draw() {
      const { data, names } = this, [x, y] = [names[this.x.selectedIndex], names[this.y.selectedIndex]];
      const none = data.bounded ? "No trial is known to be feasible yet." : "No trial has every objective yet.";
      const found = `${data.bounded ? "Feasible trials" : "Trials"} that none is better than in every objective, with 95 % bars of what the model believes.`;
      say(this.note, data.study.front.length ? found : none);
      fill(this.legend, ccgbo.legend(["diamond", "front"], ["dot", "dominated, coloured by credit"], ...(data.bounded ? [["cross soft", "infeasible"]] : [])));
      this.plot.set(() => ccgbo.plots.front(data, x, y));
    }
  }

  function valuesText(values) {
    return Object.entries(values).map(([name, value]) => `${name} ${number(value)}`).join(", ");
  }

  function expected(metrics) {
    return Object.entries(metrics).map(([name, [mean, std]]) => `${name} ${number(mean)} ± ${number(std, 2)}`).join(", ");
  }

  // In place of the best and of the estimated optimum, where there is a front.
  function frontTiles(data, tile, counted, wait) {
    const { study, analysis } = data, volume = study.hypervolume, found = analysis.recommended_set;
    return [
      tile("front", count(study.front.length), study.front.length ? "trials that none is better than in every objective" : `no ${data.bounded ? "feasible " : ""}trial with every objective yet`),
      tile("hypervolume", volume ? (volume.value === null ? "∞" : number(volume.value)) : "–", volume ? `reference ${valuesText(volume.reference)}` : "needs a front"),
      tile("trials", String(study.trials.id.length), counted),
      tile("recommended", found ? count(found.length) : "–", found ? `${found.length === 1 ? "point" : "points"} that span the front` : wait),
    ];
  }

  // The recommended points side by side: settings, and what the model expects of each metric.
  function recommendedTable(head, body, data, wait) {
    const found = data.analysis.recommended_set || [], best = data.study.best;
    const columns = [...(best === null ? [] : [{ title: `best, trial ${best}`, id: best }]), ...found.filter((r) => data.row.has(r.id)).map((r) => ({ title: data.several ? `trial ${r.id}` : `recommended, trial ${r.id}`, ...r }))];
    fill(head, el("th", { scope: "col" }, ""), ...columns.map((c) => el("th", { scope: "col", class: "num" }, c.title)));
    if (!columns.length) return fill(body, el("tr", null, el("td", null, wait)));
    const points = columns.map((c) => new Map(data.params(c.id)));
    const row = (name, cells) => el("tr", null, el("th", { scope: "row" }, name), ...cells.map((text) => el("td", { class: "num" }, text)));
    const metric = (name) => columns.map((c) => (c.metrics && c.metrics[name] ? `${number(c.metrics[name][0])} ± ${number(c.metrics[name][1], 2)}` : number(data.measured(name, c.id))));
    return fill(body,
      ...data.metrics.names.map((name) => row(name, metric(name))),
      data.bounded ? row("feasible with probability", columns.map((c) => number(c.feasibility, 3))) : null,
      ...data.names.map((name) => row(name, points.map((p) => (p.has(name) ? number(p.get(name)) : "–")))));
  }

  // How often each bound was kept.
  function boundsTable(body, data) {
    const { names, constraints } = data.metrics;
    const done = data.trials.id.filter((id) => data.state(id) === "complete" && data.mark(id) === "");
    fill(body, ...names.filter((name) => name in constraints).map((name) => {
      const { low, high, text } = constraints[name];
      const values = done.map((id) => data.measured(name, id)).filter((v) => v !== null);
      const kept = values.filter((v) => (low === null || v >= low) && (high === null || v <= high)).length;
      return el("tr", null, el("th", { scope: "row" }, `${name} ${text}`), el("td", { class: "num" }, `${kept} of ${values.length}`), el("td", { class: "num" }, String(done.length - values.length)));
    }));
  }

  return { FrontView, MetricChoice, boundsTable, expected, frontTiles, recommendedTable, valuesText };
})();
