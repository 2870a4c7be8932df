// What was measured of a trial: one value, or a field for each metric, of which those left empty were not measured.
"use strict";

ccgbo.Measured = (() => {
  const { el, number } = ccgbo;
  const { Wrong, numberInput, readOptional, readValues, readingsHint } = ccgbo.fields;

  class Measured {
    // known: by name the value or the readings, and the standard error, that stand in the fields
    constructor(metrics, { prefix, about = "", known = {} }) {
      this.names = metrics.names;
      this.inputs = this.names.map((name, j) => numberInput({ id: `${prefix}-m${j}` }));
      this.errors = this.names.map((name) => numberInput({ "aria-label": `standard error of ${name}${about}` }));
      this.names.forEach((name, j) => {
        const was = known[name] || {};
        this.inputs[j].value = was.values === undefined || was.values === null ? "" : [was.values].flat().join(" ");
        this.errors[j].value = was.error === undefined || was.error === null ? "" : String(was.error);
      });
      const field = (name, input, ...hints) => el("label", null, name, input, ...hints);
      const hint = (text) => el("span", { class: "hint" }, text);
      this.node = el("div", { class: "fields measured" }, ...this.names.map((name, j) => field(name, this.inputs[j], hint(wanted(metrics, name)), readingsHint(this.inputs[j]))));
      this.errorFields = this.names.map((name, j) => field(`standard error of ${name}`, this.errors[j], hint("of one value, if it is known")));
    }
    get first() {
      return this.inputs[0];
    }
    // By name the values and the standard errors that were typed; null where a field is empty.
    typed() {
      return Object.fromEntries(this.names.map((name, j) => {
        const empty = this.inputs[j].value.trim() === "";
        if (empty) this.inputs[j].removeAttribute("aria-invalid");
        const values = empty ? null : readValues(this.inputs[j], name), error = readOptional(this.errors[j], `standard error of ${name}`);
        if (empty && error !== null) throw new Wrong(this.inputs[j], `${name} has a standard error and no value.`);
        return [name, { values, error }];
      }));
    }
    // The fields of a request; at least one metric must have been measured.
    read() {
      const typed = Object.entries(this.typed()).filter(([, { values }]) => values !== null);
      if (!typed.length) throw new Wrong(this.first, "At least one metric must have a value.");
      const errors = typed.filter(([, { error }]) => error !== null);
      return {
        value: Object.fromEntries(typed.map(([name, { values }]) => [name, values])),
        ...(errors.length ? { standard_error: Object.fromEntries(errors.map(([name, { error }]) => [name, error])) } : {}),
      };
    }
    clear() {
      for (const input of [...this.inputs, ...this.errors]) input.value = "";
    }
  }

  // What is asked of a metric, in words.
  function wanted(metrics, name) {
    const parts = [metrics.objectives[name], metrics.constraints[name] && `must be ${metrics.constraints[name].text}`];
    return `${parts.filter(Boolean).join(", ")}; empty: not measured`;
  }

  // What an answer says was told.
  function saidOf(values) {
    return Object.entries(values).map(([name, value]) => `${name} ${number(value, 10)}`).join(", ");
  }

  // What a trial has now, as the fields take it.
  function knownOf(data, id) {
    const more = data.trials.measured[id] || {};
    return Object.fromEntries(data.metrics.names.map((name) => {
      const { readings, standard_error: error } = more[name] || {};
      return [name, { values: readings || data.measured(name, id), error: error === undefined ? null : error }];
    }));
  }

  return Object.assign(Measured, { knownOf, saidOf });
})();
