// A trial that waits for its outcome: told, failed, given up or given back.
"use strict";

ccgbo.Pending = (() => {
  const { Measured, el, fill, number, params } = ccgbo;
  const { Fields, doing, numberInput, readOptional, readTags, readValues, readingsHint, textInput, twice } = ccgbo.fields;

  class Pending {
    constructor(desk, data, id, prefix = "") {
      this.desk = desk;
      this.id = id;
      this.point = JSON.stringify(data.params(id));
      this.asked = Object.fromEntries(data.params(id));
      const name = `${prefix}value-${id}`;
      this.measured = data.metrics === null ? null : new Measured(data.metrics, { prefix: name, about: `, trial ${id}` });
      this.input = this.measured === null ? numberInput({ size: "12", id: name }) : this.measured.first;
      this.tellButton = el("button", { type: "submit", class: "primary" }, "Tell");
      this.kept = el("p", { class: "kept" });
      const fail = twice({
        label: "Mark failed", title: `mark failed: trial ${id}`, question: "", yes: `Yes, trial ${id} failed`, why: `why trial ${id} failed`,
      }, (button, reason) => this.send(button, "fail", () => ({ ...this.said(), reason }), () => `Trial ${id} is marked as failed.`));
      const more = this.more(data, `${prefix}more-${id}`);
      const moreButton = el("button", { type: "button", "aria-label": `more for trial ${id}`, "aria-expanded": "false", "aria-controls": more.id }, "More");
      moreButton.addEventListener("click", () => {
        more.hidden = !more.hidden;
        moreButton.setAttribute("aria-expanded", String(!more.hidden));
        if (!more.hidden) (this.measured === null ? this.error : this.measured.errors[0]).focus();
      });
      const value = this.measured === null ? [el("label", { for: name }, "value"), this.input] : [];
      const form = el("form", { novalidate: true },
        this.measured === null ? null : this.measured.node,
        el("div", { class: "controls" }, ...value, this.tellButton, fail.button, moreButton, this.measured === null ? readingsHint(this.input) : null),
        fail.panel, more);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.tell();
      });
      this.node = el("li", { "data-trial": String(id) }, el("span", { class: "who" }, `Trial ${id}`), params(data.params(id)), this.kept, form);
      this.update(data);
    }

    more(data, id) {
      const trial = this.id;
      this.error = numberInput({ "aria-label": `standard error of trial ${trial}` });
      this.note = textInput({ "aria-label": `note on trial ${trial}` });
      this.tags = textInput({ "aria-label": `tags of trial ${trial}` });
      this.fields = new Fields(data.study.parameters, { prefix: `${id}-p`, point: this.asked });
      this.used = el("details", { class: "used" }, el("summary", null, "Settings really used, if they were others"), this.fields.node);
      const keep = el("button", { type: "button", "aria-label": `keep the note on trial ${trial}` }, "Keep the note");
      keep.addEventListener("click", () => this.send(keep, "annotate", () => ({ note: this.note.value.trim(), tags: readTags(this.tags) }), () => `The note on trial ${trial} is kept.`));
      const back = twice({
        label: "Give back", title: `give back: trial ${trial}`, question: "It stays pending, and the next to ask gets it.", yes: `Yes, give trial ${trial} back`,
      }, (button) => this.send(button, "release", () => ({}), (answer) => answer.released ? `Trial ${trial} was given back: the next to ask gets it.` : `Trial ${trial} waits to be asked already.`));
      const abandon = twice({
        label: "Abandon", title: `abandon trial ${trial}`, question: "pending → abandoned: it leaves no trace in the model.", yes: `Yes, abandon trial ${trial}`, why: `why trial ${trial} is abandoned`,
      }, (button, note) => this.send(button, "abandon", () => ({ note }), () => `Trial ${trial} is abandoned.`));
      return el("div", { id, class: "more", hidden: true },
        el("div", { class: "fields" },
          ...(this.measured === null ? [el("label", null, "standard error", this.error, el("span", { class: "hint" }, "of one value, if it is known"))] : this.measured.errorFields),
          el("label", null, "note", this.note, el("span", { class: "hint" }, "anything to remember")),
          el("label", null, "tags", this.tags, el("span", { class: "hint" }, "words with commas between them"))),
        this.used,
        el("div", { class: "controls" }, keep, back.button, abandon.button), back.panel, abandon.panel);
    }

    // What is kept with the trial already; the fields for it follow until somebody types in them.
    update(data) {
      const note = data.trials.note[this.id] || "", tags = data.trials.tags[this.id] || [];
      const key = JSON.stringify([note, tags]);
      if (key === this.key) return;
      this.key = key;
      this.note.value = note;
      this.tags.value = tags.join(", ");
      fill(this.kept, note ? el("span", null, note) : null, ...tags.map((tag) => el("span", { class: "tag" }, tag)));
    }

    // What goes with an outcome.
    said() {
      const used = this.used.open ? this.fields.differing(this.asked) : {};
      const note = this.note.value.trim(), tags = readTags(this.tags);
      return {
        ...(Object.keys(used).length ? { params: used } : {}),
        ...(note ? { note } : {}),
        ...(tags.length ? { tags } : {}),
      };
    }

    tell() {
      if (this.measured !== null) {
        return this.send(this.tellButton, "tell", () => ({ ...this.measured.read(), ...this.said() }), (answer) => `Trial ${this.id} has ${Measured.saidOf(answer.values)}.${outsideOf(answer)}`);
      }
      let value = null;
      return this.send(this.tellButton, "tell", () => {
        value = readValues(this.input);
        const error = readOptional(this.error, "standard error");
        return { value, ...(error === null ? {} : { standard_error: error }), ...this.said() };
      }, (answer) => {
        const several = Array.isArray(value) ? `, the mean of ${value.length} readings` : "";
        return `Trial ${this.id} has the value ${several ? number(answer.value) : value}${several}.${outsideOf(answer)}`;
      });
    }

    send(button, action, body, done) {
      return doing(button, this.desk.say, async () => {
        const answer = await this.desk.post(`/api/${action}`, { trial: this.id, ...body() });
        this.desk.say(done(answer));
      });
    }
  }

  function outsideOf(answer) {
    return answer.outside ? ` It lies outside the space: ${answer.outside}` : "";
  }

  return Pending;
})();
