// Other metrics: a row for each with its name, what is asked of it and its bounds; looked at before it is done.
"use strict";

ccgbo.MetricsForm = (() => {
  const { CheckedForm, el, fill } = ccgbo;
  const { Wrong, numberInput, readOptional, textInput } = ccgbo.fields;
  const ROLES = [["maximize", "maximize"], ["minimize", "minimize"], ["bounded", "only keep its bounds"], ["gone", "not any more"]];

  class MetricsForm extends CheckedForm {
    constructor(desk) {
      const rows = el("div", { class: "fields metrics" });
      const more = el("button", { type: "button", onclick: () => this.add() }, "Add a metric");
      super(desk, {
        id: "metrics", address: "/api/measure", title: "Change the metrics", check: "Check the metrics", done: "The metrics are changed.",
        note: "What is measured, and what is asked of it. Every trial is kept with all that was measured; a metric that is new is told of earlier trials by changing them.",
      }, rows, el("div", { class: "controls" }, more));
      this.rows = rows;
    }

    // metrics is null where a trial has one value
    update(metrics, direction) {
      if (!this.moved([metrics, direction])) return;
      const known = metrics || { names: ["value"], objectives: { value: direction }, constraints: {} };
      this.known = known.names;
      this.edits = known.names.map((name, j) => new Row(`metric-${j}`, name, known.objectives[name] || "bounded", known.constraints[name]));
      fill(this.rows, ...this.edits.map((row) => row.node));
      this.unchecked();
    }

    add() {
      const row = new Row(`metric-${this.edits.length}`, null, "bounded");
      this.edits.push(row);
      this.rows.append(row.node);
      this.unchecked();
      row.name.focus();
    }

    wanted() {
      const objectives = {}, constraints = {}, rename = {}, kept = this.edits.map((row) => row.read()).filter((one) => one !== null);
      const names = kept.map(({ name }) => name), twice = names.find((name, j) => names.indexOf(name) < j);
      if (twice !== undefined) throw new Error(`Two metrics are called “${twice}”.`);
      for (const { was, name, role, bounds } of kept) {
        if (was !== null && was !== name) rename[was] = name;
        if (role !== "bounded") objectives[name] = role;
        if (bounds !== null) constraints[name] = bounds;
      }
      return { objectives, constraints, rename };
    }

    verdict({ sentences }) {
      return sentences.length ? { lines: sentences, ready: true } : { lines: ["These are the metrics as they are."], ready: false };
    }
  }

  class Row {
    constructor(id, was, role, bound = {}) {
      this.was = was;
      const of = was === null ? "the new metric" : was;
      this.name = textInput({ id, "aria-label": `name of ${of}` });
      this.name.value = was === null ? "" : was;
      this.role = el("select", { id: `${id}-role`, "aria-label": `what is asked of ${of}` },
        ...ROLES.map(([value, title]) => el("option", { value, selected: value === role }, title)));
      [this.lower, this.upper] = [["low", "at least"], ["high", "at most"]].map(([end, words]) => {
        const node = numberInput({ id: `${id}-${end}`, "aria-label": `${of}, ${words}`, placeholder: words });
        node.value = bound[end] === undefined || bound[end] === null ? "" : String(bound[end]);
        return node;
      });
      this.node = el("div", { class: "field" }, this.name, this.role, el("span", { class: "pair" }, this.lower, el("span", null, "to"), this.upper),
        el("span", { class: "hint" }, "bounds that it must keep; empty: none"));
    }

    // What the row says; null where there shall be no such metric.
    read() {
      const name = this.name.value.trim(), role = this.role.value;
      if (role === "gone" || (this.was === null && name === "")) return null;
      if (name === "") throw new Wrong(this.name, `${this.was} must have a name.`);
      const ends = [readOptional(this.lower, `least of ${name}`), readOptional(this.upper, `most of ${name}`)];
      const bounds = ends.every((end) => end === null) ? null : ends;
      if (role === "bounded" && bounds === null) throw new Wrong(this.lower, `${name} must have a bound, or be maximized or minimized.`);
      return { was: this.was, name, role, bounds };
    }
  }

  return MetricsForm;
})();
