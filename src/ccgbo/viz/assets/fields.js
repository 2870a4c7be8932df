// What is typed: numbers, readings, words, and a point with a field for each parameter.
"use strict";

ccgbo.fields = (() => {
  const { el, number } = ccgbo;

  // Something typed that cannot be meant; the field gets the focus.
  class Wrong extends Error {
    constructor(input, text) {
      super(text);
      this.input = input;
    }
  }

  function parse(text) {
    const plain = text.trim();
    return plain === "" ? NaN : Number(plain.includes(".") ? plain : plain.replace(",", "."));
  }

  function readNumber(input, name = "value") {
    const value = parse(input.value);
    const good = Number.isFinite(value);
    input.setAttribute("aria-invalid", String(!good));
    if (!good) throw new Wrong(input, `The ${name} must be a number, got “${input.value}”.`);
    return value;
  }

  // A number or null where nothing stands.
  function readOptional(input, name) {
    input.removeAttribute("aria-invalid");
    return input.value.trim() === "" ? null : readNumber(input, name);
  }

  // One value, or the list of several readings.
  function readValues(input, name = "value") {
    const parts = input.value.split(/[\s;]+/).filter((part) => part !== "");
    const values = parts.map(parse);
    const good = values.length > 0 && values.every(Number.isFinite);
    input.setAttribute("aria-invalid", String(!good));
    if (!good) throw new Wrong(input, `The ${name} must be a number, or several with spaces between them, got “${input.value}”.`);
    return values.length > 1 ? values : values[0];
  }

  function readTags(input) {
    return input.value.split(/[,;]/).map((tag) => tag.trim()).filter((tag) => tag !== "");
  }

  function textInput(props) {
    return el("input", { type: "text", autocomplete: "off", ...props });
  }

  function numberInput(props) {
    return textInput({ inputmode: "decimal", ...props });
  }

  // Says of what is typed into a field for values how many readings it is.
  function readingsHint(input) {
    const hint = el("span", { class: "hint", "aria-live": "polite" });
    input.addEventListener("input", () => {
      let values = null;
      try { values = readValues(input); } catch { /* not yet a number */ }
      input.removeAttribute("aria-invalid");
      hint.textContent = Array.isArray(values) ? `${values.length} readings, mean ${number(values.reduce((a, b) => a + b) / values.length)}` : "";
    });
    return hint;
  }

  // A field for each parameter: all of those that are active, or where `free` is set those that somebody fills in.
  class Fields {
    constructor(parameters, { prefix, free = false, point = null, onchange = () => {} }) {
      this.parameters = parameters;
      this.free = free;
      this.inputs = parameters.map((p, j) => this.input(p, `${prefix}-${j}`));
      this.labels = parameters.map((p, j) => el("label", null, p.name, this.inputs[j], el("span", { class: "hint" }, this.hint(p))));
      this.node = el("div", { class: "fields" }, ...this.labels);
      const changed = () => {
        this.show();
        onchange();
      };
      this.node.addEventListener("input", changed);
      this.node.addEventListener("change", changed);
      this.set(point || {});
    }
    input(p, id) {
      if (p.type !== "categorical") return numberInput({ id });
      return el("select", { id }, el("option", { value: "" }, ""), ...p.labels.map((text, i) => el("option", { value: String(i) }, text)));
    }
    hint(p) {
      const range = p.type === "categorical" ? "one of these" : `${p.type === "int" ? "whole number, " : ""}${number(p.low)} to ${number(p.high)}`;
      return this.free ? `${range}; empty: searched` : range;
    }
    // Put a point into the fields; what it does not have stays empty, but for what has no alternative.
    set(point) {
      this.parameters.forEach((p, j) => {
        const value = point[p.name];
        if (p.type !== "categorical") {
          this.inputs[j].value = value === undefined ? "" : String(value);
        } else {
          const only = !this.free && p.choices.length === 1 ? 0 : -1;
          this.inputs[j].selectedIndex = 1 + (value === undefined ? only : p.choices.indexOf(value));
        }
        this.inputs[j].removeAttribute("aria-invalid");
      });
      this.show();
    }
    show() {
      if (this.free) return;
      const active = new Map();
      const isActive = (name) => {
        if (!active.has(name)) {
          const j = this.parameters.findIndex((p) => p.name === name);
          const condition = this.parameters[j].active_if;
          active.set(name, condition === null || Object.entries(condition).every(([parent, values]) =>
            isActive(parent) && values.includes(this.peek(parent))));
        }
        return active.get(name);
      };
      this.parameters.forEach((p, j) => { this.labels[j].hidden = !isActive(p.name); });
    }
    peek(name) {
      const j = this.parameters.findIndex((p) => p.name === name);
      const p = this.parameters[j], text = this.inputs[j].value;
      if (p.type === "categorical") return text === "" ? undefined : p.choices[Number(text)];
      return parse(text);
    }
    // The point that was typed; the study says what is missing or wrong in it.
    read() {
      const point = {};
      this.parameters.forEach((p, j) => {
        const input = this.inputs[j];
        if (this.labels[j].hidden || input.value.trim() === "") return;
        point[p.name] = p.type === "categorical" ? p.choices[Number(input.value)] : readNumber(input, `value of ${p.name}`);
      });
      return point;
    }
    // What is typed and differs from a point.
    differing(point) {
      return Object.fromEntries(Object.entries(this.read()).filter(([name, value]) => value !== point[name]));
    }
  }

  // Do what a button promises: it stands still meanwhile, and what goes wrong is said.
  async function doing(button, say, work) {
    button.disabled = true;
    try {
      return await work();
    } catch (error) {
      say(ccgbo.net.wordsOf(error), true);
      if (error instanceof Wrong) {
        error.input.closest("details")?.setAttribute("open", "");
        error.input.focus();
      }
      return null;
    } finally {
      button.disabled = false;
    }
  }

  // A button that asks before it does something: what will be, a reason if wanted, and a second button.
  function twice({ label, title, question, yes, why }, act) {
    const input = why ? textInput({ size: "18", "aria-label": why, placeholder: "why (optional)" }) : null;
    const sure = el("button", { type: "button", class: "danger" }, yes);
    const panel = el("div", { class: "sure controls", hidden: true }, question ? el("span", null, question) : null, input, sure);
    const button = el("button", { type: "button", class: "danger", "aria-label": title, "aria-expanded": "false" }, label);
    const open = (wanted) => {
      panel.hidden = !wanted;
      button.setAttribute("aria-expanded", String(wanted));
      if (wanted) (input || sure).focus();
    };
    const go = () => act(sure, input ? input.value.trim() : "");
    button.addEventListener("click", () => open(panel.hidden));
    sure.addEventListener("click", go);
    panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !panel.hidden) {
        event.preventDefault();
        event.stopPropagation();
        open(false);
        button.focus();
      } else if (event.key === "Enter" && event.target === input) {
        event.preventDefault();  // Enter in this field must not send the form around it
        go();
      }
    });
    return { button, panel };
  }

  return { Fields, Wrong, doing, numberInput, readNumber, readOptional, readTags, readValues, readingsHint, textInput, twice };
})();
