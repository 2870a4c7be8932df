// Work by hand: ask, tell, put in line, another space, other metrics, the spreadsheet. Everything is one request and in the file after it.
"use strict";

ccgbo.Bench = (() => {
  const { Measured, MetricsForm, Pending, Sheet, SpaceForm, card, el, fill, net } = ccgbo;
  const { Fields, doing, numberInput, readNumber, readValues, readingsHint, textInput } = ccgbo.fields;
  const MOST_PENDING = 24;  // forms shown at once
  const MOST_POINTS = 20;  // suggestions at a time

  class Bench {
    constructor(nameOf, refresh) {
      this.message = el("p", { class: "message", role: "status", "aria-live": "polite" });
      this.say = (text, bad = false) => {
        this.message.className = `message ${bad ? "bad" : "good"}`;
        this.message.textContent = text;
      };
      const named = (body) => ({ study: nameOf(), ...body });
      this.desk = {
        say: this.say,
        look: (address, body) => net.post(address, named(body)),
        get: (address, query) => net.get(address, named(query)),
        file: (address, query) => net.file(address, named(query)),
        async post(address, body) {
          const answer = await net.post(address, named(body));
          await refresh();  // what is wrong then is said elsewhere: what was done is done
          return answer;
        },
        async upload(address, query, file, changes) {
          const answer = await net.upload(address, named(query), file);
          if (changes) await refresh();
          return answer;
        },
      };
      this.askButton = el("button", { type: "submit", class: "primary", id: "ask" }, "Suggest");
      this.points = el("input", { type: "number", id: "points", min: "1", max: String(MOST_POINTS), step: "1", value: "1" });
      this.fixed = el("details", { id: "fixed" }, el("summary", null, "Hold some parameters at a value"));
      const asking = el("form", { novalidate: true }, el("div", { class: "controls" }, this.askButton, el("label", null, this.points, "points")), this.fixed);
      asking.addEventListener("submit", (event) => {
        event.preventDefault();
        this.ask();
      });
      this.list = el("ul", { class: "pending-list", id: "pending" });
      this.rest = el("p", { class: "note" });
      this.items = new Map();
      this.elsewhere = el("form", { id: "elsewhere", novalidate: true });
      this.queue = el("form", { id: "queue", novalidate: true });
      this.spaceForm = new SpaceForm(this.desk);
      this.metricsForm = new MetricsForm(this.desk);
      this.sheet = new Sheet(this.desk);
      this.shape = "";
      this.node = card(12, "By hand", "Ask for a point, evaluate it, tell its value. Everything is in the study file before the button lets go.",
        asking, this.message, this.list, this.rest,
        el("details", { id: "enqueue" }, el("summary", null, "Put a point of your own in line"), this.queue),
        el("details", { id: "more" }, el("summary", null, "Tell a point that was evaluated elsewhere"), this.elsewhere),
        this.spaceForm.node, this.metricsForm.node, this.sheet.node);
      this.node.classList.add("by-hand");
    }

    ask() {
      return doing(this.askButton, this.say, async () => {
        const n = readNumber(this.points, "number of points");
        const fixed = this.fixed.open ? this.free.read() : {};
        this.say("The model is thinking …");
        const { trials } = await this.desk.post("/api/ask", { n, ...(Object.keys(fixed).length ? { fixed } : {}) });
        this.say(trials.length === 1 ? `Trial ${trials[0]} is waiting for its value.`
          : `Trials ${trials.slice(0, -1).join(", ")} and ${trials.at(-1)} are waiting for their values.`);
        const item = this.items.get(trials[0]);
        if (item) item.input.focus();
      });
    }

    // Rows are kept while they stay: what somebody is typing must survive an update.
    update(data) {
      this.parameters = data.study.parameters;
      this.metrics = data.metrics;
      const shape = JSON.stringify([this.parameters, this.metrics]), moved = shape !== this.shape;
      this.shape = shape;
      const pending = data.trials.id.filter((_, i) => data.trials.state[i] === "pending");
      const waiting = pending.slice(0, MOST_PENDING);
      this.rest.textContent = pending.length > waiting.length ? `and ${pending.length - waiting.length} more, in the table of all trials` : "";
      const shown = new Set(waiting);
      for (const [id, item] of this.items) {
        if (!moved && shown.has(id) && item.point === JSON.stringify(data.params(id))) continue;  // another point: another file
        item.node.remove();
        this.items.delete(id);
      }
      for (const id of waiting) {
        if (this.items.has(id)) {
          this.items.get(id).update(data);
          continue;
        }
        const item = new Pending(this.desk, data, id);
        this.items.set(id, item);
        this.list.append(item.node);
      }
      this.best = data.study.best === null ? null : Object.fromEntries(data.params(data.study.best));
      if (moved) {
        this.free = new Fields(this.parameters, { prefix: "fix", free: true });
        fill(this.fixed, this.fixed.firstElementChild, this.free.node);
        this.buildElsewhere();
        this.buildQueue();
      } else if (!this.queue.closest("details").open) {
        this.queued.set(this.best || {});  // as long as nobody looks at it
      }
      this.spaceForm.update(this.parameters);
      this.metricsForm.update(this.metrics, data.study.direction);
    }

    forget() {
      for (const item of this.items.values()) item.node.remove();
      this.items.clear();
      this.shape = "";
      this.sheet.forget();
      this.say("");
    }

    buildElsewhere() {
      const fields = new Fields(this.parameters, { prefix: "p" });
      const measured = this.metrics === null ? null : new Measured(this.metrics, { prefix: "p-value", about: " of this point" });
      const outcome = numberInput({ id: "p-value" }), note = textInput({ id: "p-note" });
      const button = el("button", { type: "submit", class: "primary" }, "Tell this point");
      const value = el("label", null, "value", outcome, el("span", { class: "hint" }, "the result; several are readings"), readingsHint(outcome));
      fields.node.append(...(measured === null ? [value] : [...measured.node.children]),
        el("label", null, "note", note, el("span", { class: "hint" }, "anything to remember")));
      fill(this.elsewhere, fields.node, button);
      this.elsewhere.onsubmit = (event) => {
        event.preventDefault();
        doing(button, this.say, async () => {
          const told = measured === null ? { value: readValues(outcome) } : measured.read();
          const body = { params: fields.read(), ...told, note: note.value.trim() };
          const answer = await this.desk.post("/api/tell", body);
          this.say(`Told as trial ${answer.trial}.`);
          outcome.value = note.value = "";
          if (measured !== null) measured.clear();
        });
      };
    }

    buildQueue() {
      this.queued = new Fields(this.parameters, { prefix: "q", point: this.best });
      const note = textInput({ id: "q-note" });
      const button = el("button", { type: "submit", class: "primary" }, "Put in line");
      this.queued.node.append(el("label", null, "note", note, el("span", { class: "hint" }, "anything to remember")));
      fill(this.queue, el("p", { class: "note" }, "The next to ask gets it first. The fields start from the best trial."), this.queued.node, button);
      this.queue.onsubmit = (event) => {
        event.preventDefault();
        doing(button, this.say, async () => {
          const answer = await this.desk.post("/api/enqueue", { params: this.queued.read(), note: note.value.trim() });
          this.say(`Trial ${answer.trial} is in line: the next to ask gets it.`);
          note.value = "";
        });
      };
    }
  }

  return Bench;
})();
