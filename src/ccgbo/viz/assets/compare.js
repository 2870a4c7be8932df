// The studies of one file beside each other: the best value of each so far, over its evaluations.
"use strict";

ccgbo.Comparison = (() => {
  const { card, el, fill, label, net, number, say } = ccgbo;
  const { Plot, colors, layout } = ccgbo.plots;

  // Where the best value changed, and the end of the run.
  function line({ n, steps }) {
    const x = steps.map(([i]) => i), y = steps.map(([, value]) => value);
    return { x: [...x, n], y: [...y, y[y.length - 1]] };
  }

  function plot(studies, current) {
    const { BLUE, RED, GREEN, GREY } = colors();
    const hues = [BLUE, RED, GREEN, GREY], dashes = ["solid", "dash", "dot"];
    const traces = studies.map((study, i) => ({
      type: "scatter", mode: "lines", name: label(study.name), ...line(study),
      line: { shape: "hv", color: hues[i % hues.length], dash: dashes[Math.floor(i / hues.length) % dashes.length], width: study.name === current ? 3.5 : 1.8 },
      hovertemplate: "%{y:.6g} after %{x} evaluations<extra>%{fullData.name}</extra>",
    }));
    const legend = { orientation: "h", y: -0.22 };
    return [traces, layout({ showlegend: true, legend, xaxis: { title: { text: "evaluation" } }, yaxis: { title: { text: "best so far" } } })];
  }

  class Comparison {
    constructor(nameOf) {
      this.nameOf = nameOf;
      this.plot = null;  // made when it is first looked at
      this.rows = el("tbody");
      this.note = el("p", { class: "note", role: "status" });
      this.body = el("div");
      this.details = el("details", { id: "compare" }, el("summary", null, "Compare the studies of this file"), this.body);
      this.details.addEventListener("toggle", () => this.refresh());
      this.node = card(12, "Other studies", "The best value of each study so far. Only studies of the same direction and the same metrics can be compared.", this.details);
      this.node.hidden = true;
      this.key = null;
    }
    // Called with the list of the studies whenever it was read.
    update(infos) {
      this.node.hidden = infos.length < 2;
      const key = JSON.stringify([this.nameOf(), infos]);
      if (key === this.key) return;
      this.key = key;
      this.refresh();
    }
    async refresh() {
      if (!this.details.open || this.node.hidden) return;
      if (this.plot === null) {
        this.plot = new Plot("the best value of each study so far", "tall");
        const head = ["study", "evaluations", "best value", "reached after"].map((text, i) => el("th", { scope: "col", class: i ? "num" : "" }, text));
        const table = el("table", null, el("thead", null, el("tr", null, ...head)), this.rows);
        fill(this.body, this.plot.node, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "best values of the studies" }, table), this.note);
      }
      try {
        this.show((await net.get("/api/comparison")).studies);
      } catch (error) {
        say(this.note, net.wordsOf(error));
      }
    }
    show(studies) {
      const current = this.nameOf();
      const own = studies.find((study) => study.name === current);
      const goal = (study) => JSON.stringify([study.direction, study.metrics]);
      const alike = studies.filter((study) => own && goal(study) === goal(own));
      const told = alike.filter((study) => study.steps.length);
      this.plot.set(() => plot(told, current));
      fill(this.rows, ...alike.map((study) => this.row(study)));
      const others = studies.length - alike.length;
      const several = own && own.metrics !== null && Object.keys(own.metrics.objectives).length > 1;
      const left = others ? `${others === 1 ? "One study" : `${others} studies`} ${studies.every((study) => study.metrics === null) ? "of the other direction" : "with other metrics"} left out.` : "";
      say(this.note, [several ? "Several objectives have no best value: the front of each study stands on its own page." : "", left].filter(Boolean).join(" "));
    }
    row({ name, n, steps }) {
      const [at, best] = steps.length ? steps[steps.length - 1] : [null, null];
      const cells = [String(n), number(best), at === null ? "–" : String(at)];
      return el("tr", null, el("th", { scope: "row" }, name), ...cells.map((text) => el("td", { class: "num" }, text)));
    }
  }

  return Comparison;
})();
