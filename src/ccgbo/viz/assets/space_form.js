// Another space: bounds and choices in fields, or the whole of it as TOML; looked at before it is done.
"use strict";

ccgbo.SpaceForm = (() => {
  const { CheckedForm, el, fill, options } = ccgbo;
  const { Wrong, doing, numberInput, readNumber, textInput } = ccgbo.fields;

  class SpaceForm extends CheckedForm {
    constructor(desk) {
      const mode = el("select", { "aria-label": "how the space is edited", onchange: () => this.turn() },
        el("option", { value: "fields" }, "bounds and choices"), el("option", { value: "toml" }, "the whole space as TOML"));
      const bounds = el("div", { class: "fields" });
      const toml = el("textarea", { id: "space-toml", rows: "12", spellcheck: "false", "aria-label": "the space as TOML", hidden: true });
      const asks = el("div", { class: "fields" });
      super(desk, {
        id: "space", address: "/api/change", title: "Change the space", check: "Check", done: "The space is changed.",
        note: "Every trial is kept. Check says what will change, and what it means for the trials so far.",
      }, el("div", { class: "controls" }, el("label", null, "edit ", mode)), bounds, toml, asks);
      Object.assign(this, { mode, bounds, toml, asks, answers: [] });
    }

    update(parameters) {
      if (!this.moved(parameters)) return;
      this.parameters = parameters;
      this.edits = parameters.map((p, j) => edit(p, `space-${j}`));
      fill(this.bounds, ...this.edits.map((one) => one.node));
      this.toml.value = "";
      this.ask({ added: [], removed: [] });
      this.unchecked();
      this.turn();
    }

    async turn() {
      const toml = this.mode.value === "toml";
      this.bounds.hidden = toml;
      this.toml.hidden = this.asks.hidden = !toml;
      this.unchecked();
      if (!toml || this.toml.value !== "") return;
      await doing(this.check, this.desk.say, async () => {
        const found = await this.desk.get("/api/space");
        if (found.toml === null) throw new Error(found.why);
        this.toml.value = found.toml;
      });
    }

    wanted() {
      if (this.mode.value === "toml") {
        const answers = { defaults: {}, rename: {}, fixed: {}, marginal: [] };
        for (const answer of this.answers) answer(answers);
        return { toml: this.toml.value, ...answers };
      }
      const parameters = {};
      this.edits.forEach((one, j) => {
        const fields = one.read();
        if (Object.keys(fields).length) parameters[this.parameters[j].name] = fields;
      });
      if (!Object.keys(parameters).length) throw new Error("Nothing differs from the space as it is.");
      return { parameters };
    }

    verdict(answer) {
      this.ask(answer);
      const open = answer.open.length > 0, same = answer.sentences.length === 0;
      const lines = open ? [`Say what becomes of ${answer.open.join(", ")}, and check again.`] : same ? ["This is the space as it is."] : answer.sentences;
      return { lines, ready: !open && !same };
    }

    // Parameters that come or go: what the trials so far had of them, and what shall become of it.
    ask({ added, removed }) {
      const key = JSON.stringify([added, removed]);
      if (key === this.asked) return;
      this.asked = key;
      this.answers = [];
      fill(this.asks, ...removed.map((name) => this.askRemoved(name, added)), ...added.map((name) => this.askAdded(name)));
    }

    askRemoved(name, added) {
      const ways = ["marginal", "fixed", ...added.map((other) => `= ${other}`)];
      const titles = ["what it did counts as noise", "stays at one value", ...added.map((other) => `is called ${other} now`)];
      const way = el("select", { "aria-label": `what becomes of ${name}` }), value = textInput({ "aria-label": `value of ${name}`, placeholder: "value" });
      options(way, ways, undefined, titles);
      const show = () => { value.hidden = way.selectedIndex !== 1; };
      way.addEventListener("change", show);
      show();
      this.answers.push((answers) => {
        if (way.selectedIndex < 0) return;
        if (way.selectedIndex === 0) answers.marginal.push(name);
        else if (way.selectedIndex === 1) answers.fixed[name] = value.value;
        else answers.rename[name] = added[way.selectedIndex - 2];
      });
      return el("label", null, name, way, value, el("span", { class: "hint" }, "is no longer in the space"));
    }

    askAdded(name) {
      const value = textInput({ "aria-label": `value of ${name} in the trials so far` });
      this.answers.push((answers) => {
        if (value.value.trim() !== "") answers.defaults[name] = value.value.trim();
      });
      return el("label", null, name, value, el("span", { class: "hint" }, "is new: its value in the trials so far; empty if it was called otherwise"));
    }
  }

  // One parameter: its bounds, or its choices a line each.
  function edit(p, id) {
    return p.type === "categorical" ? choices(p, id) : bounds(p, id);
  }

  function bounds(p, id) {
    const input = (end) => {
      const node = numberInput({ id: `${id}-${end}`, "aria-label": `${p.name}, ${end === "low" ? "lower" : "upper"} bound` });
      node.value = String(p[end]);
      return node;
    };
    const low = input("low"), high = input("high");
    return {
      node: el("div", { class: "field" }, el("span", null, p.name), el("span", { class: "pair" }, low, el("span", null, "to"), high),
        el("span", { class: "hint" }, [p.type === "int" ? "whole numbers" : "numbers", ...(p.log ? ["on a log scale"] : [])].join(", "))),
      read() {
        const fields = {};
        for (const [end, node] of [["low", low], ["high", high]]) {
          const value = readNumber(node, `bound of ${p.name}`);
          if (value !== p[end]) fields[end] = value;
        }
        return fields;
      },
    };
  }

  function choices(p, id) {
    const kind = ["string", "number"].find((type) => p.choices.every((choice) => typeof choice === type));
    const plain = kind !== undefined && p.labels.every((text) => text !== "" && text === text.trim() && !text.includes("\n"));
    const area = el("textarea", { id, rows: String(Math.min(p.labels.length + 1, 8)), "aria-label": `choices of ${p.name}`, readonly: !plain });
    area.value = p.labels.join("\n");
    return {
      node: el("div", { class: "field" }, el("span", null, p.name), area, el("span", { class: "hint" }, plain ? "a line for each choice" : "these choices can be edited as TOML")),
      read() {
        const lines = area.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");
        if (!plain || JSON.stringify(lines) === JSON.stringify(p.labels)) return {};
        const known = new Map(p.labels.map((text, i) => [text, p.choices[i]]));
        return { choices: lines.map((line) => (known.has(line) ? known.get(line) : kind === "string" ? line : numberOf(area, line, p.name))) };
      },
    };
  }

  function numberOf(area, line, name) {
    const value = Number(line.includes(".") ? line : line.replace(",", "."));
    if (!Number.isFinite(value)) throw new Wrong(area, `A choice of ${name} must be a number, got “${line}”.`);
    return value;
  }

  return SpaceForm;
})();
