// A form for what changes the whole study: one button says what would change, and only then another one does it.
"use strict";

ccgbo.CheckedForm = (() => {
  const { el, fill } = ccgbo;
  const { doing } = ccgbo.fields;

  // What a form of this kind has: wanted(), the body of the request, and verdict(answer), the lines to show and whether it is ready.
  class CheckedForm {
    constructor(desk, { id, address, title, note, check, done }, ...parts) {
      this.desk = desk;
      this.address = address;
      this.done = done;
      this.said = el("ul", { class: "changes", id: `${id}-said` });
      this.check = el("button", { type: "submit" }, check);
      this.change = el("button", { type: "button", class: "primary", disabled: true, onclick: () => this.send(false) }, title);
      const form = el("form", { id: `${id}-form`, novalidate: true }, ...parts,
        el("div", { class: "controls" }, this.check, this.change),
        el("div", { "aria-live": "polite" }, this.said));
      form.addEventListener("input", () => this.unchecked());
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.send(true);
      });
      this.node = el("details", { id }, el("summary", null, title), el("p", { class: "note" }, note), form);
      this.shape = "";
    }

    // Whether what the form is about is another than the last time.
    moved(about) {
      const shape = JSON.stringify(about), moved = shape !== this.shape;
      this.shape = shape;
      return moved;
    }

    unchecked() {
      this.change.disabled = true;
      fill(this.said);
    }

    async send(dry) {
      if (dry) this.unchecked();
      await doing(dry ? this.check : this.change, this.desk.say, async () => {
        const body = { ...this.wanted(), dry_run: dry };
        if (!dry) {
          const { sentences } = await this.desk.post(this.address, body);
          this.desk.say(`${this.done} ${sentences.join(" ")}`);
          return;
        }
        const answer = await this.desk.look(this.address, body);
        this.desk.say("");
        const { lines, ready } = this.verdict(answer);
        fill(this.said, ...lines.map((text) => el("li", null, text)));
        this.change.disabled = !ready;
      });
      if (!dry) this.unchecked();
    }
  }

  return CheckedForm;
})();
