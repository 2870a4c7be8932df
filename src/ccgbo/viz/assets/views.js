// The views of a study, the same in the report and in the dashboard: build() makes the page, what it returns fills it.
"use strict";

Object.assign(ccgbo, (() => {
  const { Data, Log, Table, advice, arrange, count, el, fill, number, say } = ccgbo;
  const { LAYERS, Plot, blank, distribution, importance, leftOut, map, overTime, parallel, progress, slice, timeline } = ccgbo.plots;
  const { hypervolume } = ccgbo.plots;
  const { FrontView, MetricChoice, boundsTable, frontTiles, recommendedTable, valuesText } = ccgbo.metricViews;

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

  // What stands where the model has said nothing yet.
  function waiting(data) {
    return data.complete().length ? data.analysis.message || "being computed …" : "needs a value";
  }

  function tiles(node, data) {
    const { study, analysis } = data;
    const states = { complete: 0, pending: 0, failed: 0, abandoned: 0, dropped: 0, outside: 0 };
    for (const id of study.trials.id) {
      states[data.state(id)] += 1;
      if (data.mark(id)) states[data.mark(id)] += 1;
    }
    const counted = Object.entries(states).filter(([state, n], i) => i < 3 || n).map(([state, n]) => `${n} ${state}`);
    const best = study.best === null ? null : data.value(study.best);
    const rec = analysis.recommended;
    const wait = waiting(data);
    if (data.bounded) counted.push(`${data.trials.id.filter((id) => data.feasible(id) === false).length} infeasible`);
    if (data.several) return fill(node, ...frontTiles(data, tile, counted.join(" · "), wait));
    return fill(
      node,
      tile(data.bounded ? "best feasible value" : "best value", number(best), best === null ? (data.bounded ? "no feasible value yet" : "no value yet") : `trial ${study.best}, ${study.direction}d`),
      tile("recommended", rec ? number(rec.mean) : "–", rec ? `trial ${rec.id}, ± ${number(rec.std, 2)} by the model` : wait),
      tile("trials", String(study.trials.id.length), counted.join(" · ")),
      tile("estimated optimum", number(analysis.proxy), rec ? `mean of the ${study.direction === "maximize" ? "maxima" : "minima"} of posterior paths` : wait)
    );
  }

  function settings(head, body, data) {
    const { study, analysis } = data;
    if (data.metrics !== null) return recommendedTable(head, body, data, waiting(data));
    fill(head, ...["parameter", "best", "recommended"].map((text, i) => el("th", { scope: "col", class: i ? "num" : "" }, text)));
    if (study.best === null) {
      return fill(body, el("tr", null, el("td", { colspan: "3" }, "no value yet")));
    }
    const best = new Map(data.params(study.best));
    const rec = analysis.recommended && data.row.has(analysis.recommended.id) ? new Map(data.params(analysis.recommended.id)) : new Map();
    const cell = (params, name) => el("td", { class: "num" }, params.has(name) ? number(params.get(name)) : "–");
    return fill(body, ...data.names.map((name) => el("tr", null, el("th", { scope: "row" }, name), cell(best, name), cell(rec, name))));
  }

  function story(node, data) {
    const told = data.analysis.story;
    if (!told) {
      fill(node, el("p", { class: "note" }, waiting(data)));
      return;
    }
    fill(
      node,
      el("p", { class: "note" }, `Credit ranks the evaluations by how likely each is, to the model, to be ${data.several ? "on the front" : `at the ${data.bounded ? "feasible " : ""}optimum`}: 1 the likeliest, 0.1 the least.`),
      el("p", null, told.headline),
      el("ol", { class: "story" }, ...told.chapters.map((c) =>
        el("li", null,
          el("span", { class: "who" }, `Trial ${c.id}`),
          ` · ${data.metrics === null ? `value ${number(c.value)}` : valuesText(c.values)} · credit ${c.credit.toFixed(2)}`,
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

  // What was left out of the pictures, in words; empty where nothing was.
  function thinned(data) {
    const { n, of } = data.analysis;
    const [drawn, all] = [data.drawn().length, data.complete().length];
    const parts = [];
    if (drawn < all) {
      parts.push(`The plots show ${count(drawn)} of ${count(all)} evaluations: the best, the latest and every n-th of the others. ` +
        "The line of the best so far, the table and the downloads have all of them.");
    }
    if (n < of) parts.push(`The model is of ${count(n)} of ${count(of)} observations, the best and the latest; the others have no credit.`);
    return parts.join(" ");
  }

  // Two parameters to choose: whatever is chosen first, the second offers only those that it has a map with.
  class MapView {
    constructor(only = null) {
      this.only = only;  // the one layer that is shown
      this.x = el("select", { onchange: () => { this.offer(); this.draw(); }, "aria-label": `across${only === null ? "" : `, ${only}`}` });
      this.y = el("select", { onchange: () => this.draw(), "aria-label": `up${only === null ? "" : `, ${only}`}` });
      this.layer = el("select", { onchange: () => this.draw(), "aria-label": `what is shown${only === null ? "" : `, ${only}`}` });
      this.plot = new Plot(`map of ${only === null ? "the model" : only} with the observations`, "tall");
      this.note = el("p", { class: "note" });
      this.node = el("div", { class: "filling" }, el("div", { class: "controls" }, this.layer, el("label", null, "across ", this.x), el("label", null, "up ", this.y)), this.note, this.plot.node);
      this.maps = [];
    }
    update(data) {
      this.data = data;
      const given = data.analysis.maps || [];
      const labels = (m) => m.x.labels.length + m.y.labels.length;
      this.maps = [...given].sort((a, b) => labels(a) - labels(b));  // numbers first
      const names = [...new Set(this.maps.flatMap((m) => [m.x.name, m.y.name]))];
      const [x, y] = [chosen(this.x), chosen(this.y)];
      options(this.x, names, names.includes(x) ? x : names[0]);
      this.offer(y);
      const layers = Object.entries(LAYERS).filter(([key]) => (this.only === null ? (key !== "weighted" || data.analysis.acts !== false || data.bounded) && (key !== "feasibility" || data.bounded) : key === this.only));
      this.layer.hidden = this.only !== null;
      options(this.layer, layers.map(([key]) => key), chosen(this.layer) || layers[0][0], layers.map(([key, [title]]) => (key === "weighted" && data.bounded ? "acquisition, weighted by feasibility" : title)));
      this.draw();
    }
    partners(name) {
      return this.maps.filter((m) => m.x.name === name || m.y.name === name).map((m) => (m.x.name === name ? m.y.name : m.x.name));
    }
    offer(wanted = chosen(this.y)) {
      const names = this.partners(chosen(this.x));
      options(this.y, names, names.includes(wanted) ? wanted : names[0]);
    }
    draw() {
      const [x, y] = [chosen(this.x), chosen(this.y)];
      let cut = this.maps.find((m) => m.x.name === x && m.y.name === y);
      if (!cut) {
        const turned = this.maps.find((m) => m.x.name === y && m.y.name === x);
        if (turned) cut = transpose(turned);
      }
      const { maps, recommended } = this.data.analysis;
      const rec = recommended && this.data.row.has(recommended.id) ? new Map(this.data.params(recommended.id)) : new Map();
      say(this.note, cut
        ? `The other parameters are held at ${this.data.several ? "a point of the front" : rec.has(x) && rec.has(y) ? "the recommended point" : "the best predicted evaluation that has both"}; dots are the observations, sized by credit${this.data.bounded ? ", crosses those that broke a bound" : ""}.`
        : maps ? "A map needs two parameters that some evaluation has both of." : "");
      this.plot.set(() => (cut ? map(this.data, cut, chosen(this.layer)) : blank(maps ? "" : waiting(this.data))));
    }
  }

  // Values against trials or time; far-off ones at the edge, unless all of them are wanted.
  class ProgressView {
    constructor() {
      this.by = el("select", { onchange: () => this.draw(), "aria-label": "progress by" });
      this.scale = el("select", { onchange: () => this.draw(), "aria-label": "values shown" });
      this.byLabel = el("label", null, "by ", this.by);
      this.scaleLabel = el("label", null, "values ", this.scale);
      this.plot = new Plot("values and the best so far");
      this.note = el("p", { class: "note" });
      this.legend = el("div");
      this.node = el("div", null, el("div", { class: "controls" }, this.byLabel, this.scaleLabel), this.legend, this.note, this.plot.node);
    }
    update(data) {
      this.data = data;
      const by = data.timed ? ["trial", "time"] : ["trial"];
      options(this.by, by, by.includes(chosen(this.by)) ? chosen(this.by) : "trial");
      const values = data.complete().map((id) => data.value(id));
      const scales = [...(data.window() ? [["near", "without far-off ones"]] : []), ["all", "all"], ...(values.length && values.every((v) => v > 0) ? [["log", "all, on a log scale"]] : [])];
      const keys = scales.map(([key]) => key);
      options(this.scale, keys, keys.includes(chosen(this.scale)) ? chosen(this.scale) : keys[0], scales.map(([, title]) => title));
      this.byLabel.hidden = by.length < 2;
      this.scaleLabel.hidden = keys.length < 2;
      this.draw();
    }
    draw() {
      const { data } = this, [by, scale] = [chosen(this.by), chosen(this.scale)];
      const window = scale === "near" ? data.window() : null;
      const off = window === null ? 0 : data.complete().filter((id) => data.value(id) < window[0] || data.value(id) > window[1]).length;
      say(this.note, off ? `${count(off)} far-off ${off === 1 ? "value stands" : "values stand"} at the edge, as ${off === 1 ? "a triangle" : "triangles"}.` : "");
      const states = data.study.trials.state;
      fill(this.legend, legend(["line blue", data.bounded ? "best feasible so far" : "best so far"], ["dot", "evaluation"], ...(data.bounded ? [["cross soft", "infeasible"]] : []), ...(states.includes("failed") ? [["cross", "failed"]] : []),
        ...(data.apart().length ? [["ring", "dropped, or outside the space"]] : []), ["line red dotted", "estimated optimum"]));
      this.plot.set(() => progress(data, by, scale));
    }
  }

  function chosen(select) {
    return select.selectedIndex < 0 ? undefined : select.values[select.selectedIndex];
  }

  // Options are made anew only where they differ: an open list must not close at every update.
  function options(select, values, wanted, titles = values) {
    if (JSON.stringify(select.values) !== JSON.stringify(values)) fill(select, ...titles.map((title, i) => el("option", { value: String(i) }, title)));
    else titles.forEach((title, i) => say(select.options[i], title));
    select.values = values;
    select.selectedIndex = values.indexOf(wanted);
  }

  function transpose(cut) {
    const layers = {};
    for (const [key, grid] of Object.entries(cut.layers)) layers[key] = cut.x.at.map((_, i) => grid.map((row) => row[i]));
    return { x: cut.y, y: cut.x, layers, colors: cut.colors };
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
      arrange(this.node, nodes);
      for (const cut of cuts) this.plots.get(cut.x.name).set(() => slice(data, cut));
    }
  }

  function build(root, { before = [], after = [], edit = null } = {}) {
    const tilesNode = el("div", { class: "tiles", "aria-label": "summary" });
    const settingsBody = el("tbody"), storyNode = el("div"), nextNode = el("div"), stopNode = el("div"), believeNode = el("div"), elsewhereNode = el("div");
    const settingsHead = el("tr"), boundsBody = el("tbody");
    const settingsNode = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "best and recommended settings" },
      el("table", null, el("thead", null, settingsHead), settingsBody));
    const boundsNode = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "how often each bound was kept" },
      el("table", null, el("thead", null, el("tr", null, ...["bound", "kept", "not measured"].map((text, i) => el("th", { scope: "col", class: i ? "num" : "" }, text)))), boundsBody));
    const plots = {
      leftOut: new Plot("each observation as the model predicts it from the others"),
      distribution: new Plot("how many evaluations gave which value", "tall"),
      timeline: new Plot("trials in time, from asking to outcome", "tall"),
      overTime: new Plot("credit of each observation over time", "tall"),
      parallel: new Plot("all trials in parallel coordinates", "tall"),
      importance: new Plot("importance of each parameter", "tall"),
      hypervolume: new Plot("hypervolume of the front over the evaluations", "tall"),
    };
    let latest = null;  // what the page shows, to be shown again with another metric
    const metric = new MetricChoice(() => ofMetric(latest));
    const frontView = new FrontView(Plot), feasibleMap = new MapView("feasibility");
    const progressNote = "Each dot is an evaluation; the larger and brighter, the more credit it has now.";
    const progressView = new ProgressView(), mapView = new MapView(), slices = new Slices(), table = new Table(edit), log = new Log();
    const thin = el("p", { class: "note thinned", role: "note" }), overTimeNote = el("p", { class: "note" }), guidance = el("div");
    const mapCard = card(7, "Inside the model", null, metric.place("inside the model"), mapView.node);
    const volumeNote = el("p", { class: "note" }), allNote = el("p", { class: "note" });
    const progressCard = card(8, "Progress", progressNote, progressView.node);
    const frontCard = card(8, "Front", null, frontView.node);
    const volumeCard = card(4, "Hypervolume", null, volumeNote, plots.hypervolume.node);
    const boundsCard = card(12, "Feasibility", "How likely every bound is kept, by the model.", boundsNode, feasibleMap.node);
    const recommendedNote = el("p", { class: "note" }), heldNote = el("p", { class: "note" });
    const recommendedCard = card(4, "Best and recommended", null, recommendedNote, settingsNode);
    const timeCard = card(12, "Timeline", "Each line is a trial, from its asking to its outcome.", legend(["line blue", "told"], ["line red", "failed"], ["line grey", "waiting, or abandoned"]), plots.timeline.node);
    fill(root, tilesNode, thin, el("div", { class: "grid views" },
      ...before,
      progressCard, frontCard, volumeCard, recommendedCard,
      card(5, "Next", "Suggestions that wait for a value, with what the model expects of them now.", nextNode, el("h3", null, "Stop?"), stopNode),
      card(7, "Believe the model?", null, metric.place("believe the model"), believeNode, plots.leftOut.node),
      card(6, "Here, because of these: the credit story", null, storyNode),
      card(6, "Not there, because of those: what each is worth", null, elsewhereNode),
      mapCard,
      card(5, "Parameter importance", "The share of the predicted variation that each takes part in (total Sobol index of the model).", metric.place("importance"), plots.importance.node),
      boundsCard,
      card(7, "Credit over time", null, overTimeNote, plots.overTime.node),
      card(5, "Distribution of values", "How many evaluations gave which value; the dotted line is the best.", metric.place("distribution"), plots.distribution.node),
      card(12, "Along each parameter", null, heldNote, metric.place("along each parameter"),
        guidance, slices.node),
      timeCard,
      card(12, "All evaluations", null, allNote, plots.parallel.node),
      card(12, "All trials", null, table.node),
      card(12, "Changed by hand", null, log.node),
      ...after
    ));
    // What is of one metric, where there are several.
    function ofMetric(all) {
      const data = all.of(metric.name), wait = waiting(data), { believe, importance: shares } = data.analysis;
      advice.believe(believeNode, data, wait);
      plots.leftOut.node.hidden = Boolean(believe && !believe.left_out.id.length);
      plots.leftOut.set(() => (believe && believe.left_out.id.length ? leftOut(data) : blank(believe ? "" : wait)));
      plots.distribution.set(() => (data.complete().length ? distribution(data) : blank(wait)));
      plots.importance.set(() => (shares ? importance(shares) : blank(wait)));
      mapView.update(data);
      slices.update(data);
    }
    return (study, analysis) => {
      const data = new Data(study, analysis);
      latest = data;
      metric.update(data);
      tiles(tilesNode, data);
      settings(settingsHead, settingsBody, data);
      story(storyNode, data);
      say(thin, thinned(data));
      const acts = data.analysis.acts !== false;  // unknown: not claimed to be off either
      say(overTimeNote, `How much credit each observation (rows) had, after how many observations (columns).${acts ? "" : " Credit did not act on this search: it is shown only."}`);
      fill(guidance, legend(["line blue", "prediction, 95 % band"], ["dot red", "observation, sized by credit"], ["line red", "credit field"],
        ...(data.bounded ? [["line green", `acquisition, weighted by feasibility${acts ? " and credit" : ""}`], ["line green dotted", "not weighted"]]
          : acts ? [["line green", "acquisition with credit"], ["line green dotted", "without credit"]] : [["line green", "acquisition"]]),
        ...(data.bounded ? [["line purple dashed", "bounds, and the probability of being feasible"]] : [])));
      progressCard.hidden = data.several;
      frontCard.hidden = volumeCard.hidden = !data.several;
      boundsCard.hidden = !data.bounded;
      say(recommendedCard.firstChild, data.several ? "Recommended" : "Best and recommended");
      recommendedCard.className = `card span-${data.several ? 12 : 4}`;
      say(recommendedNote, data.several ? "Recommended: evaluated points that span the front, with what the model expects of them."
        : data.bounded ? "Recommended: the evaluated point with the best predicted value that keeps the bounds, the safer choice when values are noisy."
        : "Recommended: the evaluated point with the best predicted value if the values show noise, else the best one.");
      say(heldNote, `The other parameters are held at ${data.several ? "a point of the front" : "the recommended point"}.`);
      say(allNote, `One line per trial; the ${data.several ? "fewer trials are better than it in every objective" : "better its value"}, the stronger the line.${data.bounded ? " Dotted: it broke a bound. Green: what is allowed." : ""}`);
      if (!data.several) progressView.update(data);
      frontView.update(data);
      const volume = study.hypervolume;
      say(volumeNote, volume ? `The volume that the measured front dominates, up to the reference point ${valuesText(volume.reference)}.` : "");
      plots.hypervolume.set(() => (volume ? hypervolume(volume) : blank("needs a feasible trial with every objective")));
      if (data.bounded) {
        boundsTable(boundsBody, data);
        feasibleMap.update(data);
        feasibleMap.node.hidden = Boolean(data.analysis.maps && !data.analysis.maps.length);
      }
      plots.parallel.set((width) => parallel(data, width));
      const { over_time, maps } = data.analysis;
      const wait = waiting(data);
      advice.next(nextNode, data, wait);
      advice.stop(stopNode, data, wait);
      advice.elsewhere(elsewhereNode, data, wait);
      ofMetric(data);
      timeCard.hidden = !data.timed;
      plots.timeline.set(() => timeline(data));
      mapCard.hidden = Boolean(maps && !maps.length);
      plots.overTime.set(() => (over_time ? overTime(over_time) : blank(wait)));
      table.update(data);
      log.update(data);
      return data;
    };
  }

  return { build, card, legend, options, params, reproduce };
})());
