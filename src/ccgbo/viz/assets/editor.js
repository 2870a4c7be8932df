// A trial that has an outcome: corrected, taken out of the model, put back, annotated.
"use strict";

ccgbo.Editor = (() => {
  const { Measured, Pending, el, fill, number } = ccgbo;
  const { Fields, doing, numberInput, readOptional, readTags, readValues, readingsHint, textInput, twice } = ccgbo.fields;

  class Editor {
    constructor(desk) {
      this.desk = desk;
      this.node = el("dialog", { class: "editor" });
    }

    open(data, id) {
      const state = data.trials.state[data.row.get(id)];
      this.id = id;
      this.message = el("p", { class: "message", role: "status", "aria-live": "polite" });
      this.say = (text, bad = false) => {
        this.message.className = `message ${bad ? "bad" : "good"}`;
        this.message.textContent = text;
      };
      const close = el("button", { type: "button", onclick: () => this.node.close() }, "Close");
      this.node.setAttribute("aria-label", `change trial ${id}`);
      const content = state === "pending" ? this.pending(data) : this.settled(data, state);
      fill(this.node, el("h2", null, `Trial ${id}`), ...content, this.message, el("div", { class: "controls" }, close));
      this.node.showModal();
    }

    // Post, and let the row behind the dialog show it.
    async send(action, body) {
      const answer = await this.desk.post(`/api/${action}`, { trial: this.id, ...body });
      this.node.close();
      return answer;
    }

    pending(data) {
      const desk = {
        say: (text, bad) => (bad ? this.say(text, true) : this.desk.say(text)),
        post: async (address, body) => {
          const answer = await this.desk.post(address, body);
          this.node.close();
          return answer;
        },
      };
      return [el("ul", { class: "pending-list" }, new Pending(desk, data, this.id, "dialog-").node)];
    }

    settled(data, state) {
      const { id } = this, { trials } = data;
      const value = data.value(id), readings = trials.readings[id];
      this.before = {
        state,
        values: readings || value,
        error: id in trials.standard_error ? trials.standard_error[id] : null,
        reason: trials.error[id] || "",
        params: Object.fromEntries(data.params(id)),
        note: trials.note[id] || "",
        tags: trials.tags[id] || [],
        known: data.metrics === null ? {} : Measured.knownOf(data, id),
      };
      this.measured = data.metrics === null ? null : new Measured(data.metrics, { prefix: "amend", known: this.before.known });
      const kinds = [...(state === "abandoned" ? [["abandoned", "abandoned, no outcome"]] : []), ["complete", "a value"], ["failed", "failed"]];
      this.kind = el("select", null, ...kinds.map(([kind, text]) => el("option", { value: kind, selected: kind === state }, text)));
      this.input = numberInput({ id: "amend-value" });
      this.input.value = state === "complete" && data.metrics === null ? (readings || [value]).join(" ") : "";
      this.error = numberInput({ id: "amend-error" });
      this.error.value = this.before.error === null ? "" : String(this.before.error);
      this.reason = textInput({ id: "amend-reason" });
      this.reason.value = this.before.reason;
      this.note = textInput({ id: "amend-note" });
      this.note.value = this.before.note;
      this.tags = textInput({ id: "amend-tags" });
      this.tags.value = this.before.tags.join(", ");
      this.fields = new Fields(data.study.parameters, { prefix: "amend", point: this.before.params });
      this.changes = el("ul", { class: "changes", id: "changes" });
      this.amendButton = el("button", { type: "submit", class: "primary" }, `Amend trial ${id}`);
      const label = (text, input, hint) => el("label", null, text, input, el("span", { class: "hint" }, hint));
      const hint = readingsHint(this.input);
      this.valueField = el("label", null, "value", this.input, hint);
      this.errorField = label("standard error", this.error, "of one value, if it is known");
      this.reasonField = label("why it failed", this.reason, "optional");
      const apart = trials.dropped[id] ? this.restore() : state === "abandoned" ? null : this.drop();
      const form = el("form", { novalidate: true },
        el("div", { class: "fields" },
          label("outcome", this.kind, "what came of it"), ...(this.measured === null ? [this.valueField, this.errorField] : []), this.reasonField,
          label("note", this.note, "anything to remember"), label("tags", this.tags, "words with commas between them")),
        this.measuredFields = this.measured && el("div", null, this.measured.node, el("details", { class: "used" }, el("summary", null, "Standard errors"), el("div", { class: "fields" }, ...this.measured.errorFields))),
        el("details", { class: "used" }, el("summary", null, "Settings really used"), this.fields.node),
        el("h3", null, "What will change"),
        el("div", { "aria-live": "polite" }, this.changes),
        el("div", { class: "controls" }, this.amendButton, apart && apart.button),
        apart && apart.panel);
      form.addEventListener("input", () => this.preview());
      form.addEventListener("change", () => this.preview());
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.amend();
      });
      this.preview();
      return [form];
    }

    drop() {
      const { id } = this;
      return twice({
        label: "Drop", title: `drop trial ${id}`, question: "in the model → dropped: it stays on record and the model no longer sees it.", yes: `Yes, drop trial ${id}`, why: `why trial ${id} is dropped`,
      }, (button, note) => doing(button, this.say, async () => {
        await this.send("drop", { note });
        this.desk.say(`Trial ${id} is dropped.`);
      }));
    }

    restore() {
      const { id } = this;
      return twice({
        label: "Restore", title: `restore trial ${id}`, question: "dropped → in the model again.", yes: `Yes, restore trial ${id}`, why: `why trial ${id} is restored`,
      }, (button, note) => doing(button, this.say, async () => {
        await this.send("restore", { note });
        this.desk.say(`Trial ${id} is back in the model.`);
      }));
    }

    // What is typed, as far as it differs: fields of the request, and lines that say before and after.
    wanted() {
      const { before } = this, kind = this.kind.value, lines = [];
      const body = {};
      if (kind === "complete" && this.measured !== null) {
        Object.assign(body, this.metrics(lines));
      } else if (kind === "complete") {
        const values = readValues(this.input), error = readOptional(this.error, "standard error");
        const changed = before.state !== kind || JSON.stringify(values) !== JSON.stringify(before.values);
        if (changed) lines.push(["value", before.state === "complete" ? said(before.values) : before.state, said(values)]);
        if (error !== before.error) lines.push(["standard error", said(before.error), said(error)]);
        if (lines.length) Object.assign(body, { value: values, ...(error === null ? {} : { standard_error: error }) });
      } else if (kind === "failed") {
        const reason = this.reason.value.trim();
        if (before.state !== kind) lines.push(["outcome", before.state === "complete" ? said(before.values) : before.state, "failed"]);
        if (reason !== before.reason.trim()) lines.push(["why it failed", said(before.reason), said(reason)]);
        if (lines.length) Object.assign(body, { failed: true, reason });
      }
      const used = this.fields.differing(before.params);
      for (const [name, value] of Object.entries(used)) lines.push([name, said(before.params[name]), said(value)]);
      if (Object.keys(used).length) body.params = used;
      const kept = {}, note = this.note.value.trim(), tags = readTags(this.tags);
      if (note !== before.note.trim()) {
        lines.push(["note", said(before.note), said(note)]);
        kept.note = note;
      }
      if (JSON.stringify(tags) !== JSON.stringify(before.tags)) {
        lines.push(["tags", said(before.tags), said(tags)]);
        kept.tags = tags;
      }
      return { body, kept, lines };
    }

    // Of named metrics what differs; null takes back what was measured.
    metrics(lines) {
      const { before } = this, value = {}, errors = {}, typed = this.measured.typed();
      if (Object.values(typed).every(({ values }) => values === null)) this.measured.read();  // says that one is needed
      for (const [name, { values, error }] of Object.entries(typed)) {
        const was = before.known[name];
        if (JSON.stringify([values, error]) === JSON.stringify([was.values, was.error]) && before.state === "complete") continue;
        if (values === null && was.values === null) continue;
        if (JSON.stringify(values) !== JSON.stringify(was.values)) lines.push([name, said(was.values), said(values)]);
        if (error !== was.error) lines.push([`standard error of ${name}`, said(was.error), said(error)]);
        value[name] = values;
        if (error !== null) errors[name] = error;
      }
      return Object.keys(value).length ? { value, ...(Object.keys(errors).length ? { standard_error: errors } : {}) } : {};
    }

    preview() {
      const kind = this.kind.value;
      this.valueField.hidden = this.errorField.hidden = kind !== "complete";
      if (this.measuredFields) this.measuredFields.hidden = kind !== "complete";
      this.reasonField.hidden = kind !== "failed";
      let lines = [], wrong = "";
      try {
        lines = this.wanted().lines;
      } catch (error) {
        wrong = error.message;
      }
      this.amendButton.disabled = lines.length === 0;
      fill(this.changes, ...lines.map(([name, before, after]) =>
        el("li", null, el("span", { class: "name" }, name), " ", el("s", null, before), " → ", el("b", null, after))),
        lines.length ? null : el("li", { class: "none" }, wrong || "nothing yet"));
    }

    amend() {
      return doing(this.amendButton, this.say, async () => {
        const { id } = this, { body, kept } = this.wanted();
        const gone = Object.fromEntries(Object.entries(kept).filter(([, value]) => !value.length));
        if (Object.keys(body).length) {
          const set = Object.fromEntries(Object.entries(kept).filter(([, value]) => value.length));
          const answer = await this.desk.post("/api/amend", { trial: id, ...body, ...set });
          if (Object.keys(gone).length) await this.desk.post("/api/annotate", { trial: id, ...gone });
          const outside = answer.outside ? ` It lies outside the space: ${answer.outside}` : "";
          const has = this.measured === null ? `the value ${number(answer.value)}` : Measured.saidOf(answer.values);
          this.desk.say(answer.state === "failed" ? `Trial ${id} is failed now.` : `Trial ${id} has ${has} now.${outside}`);
        } else {
          await this.desk.post("/api/annotate", { trial: id, ...kept });
          this.desk.say(`The note on trial ${id} is kept.`);
        }
        this.node.close();
      });
    }
  }

  function said(value) {
    if (value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length)) return "nothing";
    return Array.isArray(value) ? value.map((one) => number(one, 10)).join(", ") : number(value, 10);
  }

  return Editor;
})();
