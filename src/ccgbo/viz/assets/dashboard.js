// Follows a study: asks every second whether anything changed, fetches what did, and sends what is told by hand.
"use strict";

(() => {
  const { card, el, fill, number, params } = ccgbo;
  const SECRET = document.querySelector('meta[name="page-secret"]').content;
  const MOST_PENDING = 24;  // forms shown at once
  const PERIOD = 1000;  // milliseconds between two looks
  const title = document.getElementById("title");
  const chooser = document.getElementById("study");
  const live = document.getElementById("live");

  async function get(address, name) {
    const answer = await fetch(name === undefined ? address : `${address}?${new URLSearchParams({ study: name })}`);
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error || answer.statusText);
    return body;
  }

  async function post(address, body) {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Page-Secret": SECRET },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) {
      let why = text;
      try { why = JSON.parse(text).error; } catch { /* plain text says it */ }
      throw new Error(why);
    }
    return JSON.parse(text);
  }

  // -- work by hand

  class Bench {
    constructor(nameOf, refresh) {
      this.nameOf = nameOf;
      this.refresh = refresh;
      this.message = el("p", { class: "message", role: "status", "aria-live": "polite" });
      this.askButton = el("button", { type: "button", class: "primary", id: "ask", onclick: () => this.ask() }, "Suggest the next point");
      this.list = el("ul", { class: "pending-list", id: "pending" });
      this.rest = el("p", { class: "note" });
      this.items = new Map();
      this.elsewhere = el("form", { id: "elsewhere", onsubmit: (event) => this.tellElsewhere(event) });
      this.shape = "";
      this.node = card(12, "By hand", "Ask for a point, evaluate it, tell its value. Everything is in the study file before the button lets go.",
        el("div", { class: "controls" }, this.askButton),
        this.message,
        this.list,
        this.rest,
        el("details", { id: "more" }, el("summary", null, "Tell a point that was evaluated elsewhere"), this.elsewhere));
    }

    say(text, bad = false) {
      this.message.className = `message ${bad ? "bad" : "good"}`;
      this.message.textContent = text;
    }

    async change(button, address, body, done) {
      button.disabled = true;
      try {
        const answer = await post(address, { study: this.nameOf(), ...body });
        await this.refresh();
        this.say(done(answer));
        return true;
      } catch (error) {
        this.say(error.message, true);
        return false;
      } finally {
        button.disabled = false;
      }
    }

    async ask() {
      this.say("The model is thinking …");
      let id = null;
      await this.change(this.askButton, "/api/ask", {}, (answer) => {
        id = answer.trial;
        return `Trial ${id} is waiting for its value.`;
      });
      const item = this.items.get(id);
      if (item) item.querySelector("input").focus();
    }

    value(input) {
      const text = input.value.trim().replace(",", ".");
      const value = Number(text);
      const good = text !== "" && Number.isFinite(value);
      input.setAttribute("aria-invalid", String(!good));
      if (good) return value;
      this.say(`The value must be a number, got “${input.value}”.`, true);
      input.focus();
      return null;
    }

    pending(id, entries) {
      const input = el("input", { type: "text", inputmode: "decimal", autocomplete: "off", size: "12", id: `value-${id}` });
      const tell = el("button", { type: "submit", class: "primary" }, "Tell");
      const reason = el("input", { type: "text", autocomplete: "off", size: "18", "aria-label": `why trial ${id} failed`, placeholder: "why (optional)" });
      const sure = el("button", { type: "button", class: "danger" }, `Yes, trial ${id} failed`);
      const extra = el("span", { class: "controls", hidden: true }, reason, sure);
      const failed = el("button", { type: "button", class: "danger", "aria-label": `mark trial ${id} failed`, "aria-expanded": "false" }, "Mark failed");
      failed.addEventListener("click", () => {
        extra.hidden = !extra.hidden;
        failed.setAttribute("aria-expanded", String(!extra.hidden));
        if (!extra.hidden) reason.focus();
      });
      const fail = () => this.change(sure, "/api/fail", { trial: id, reason: reason.value }, () => `Trial ${id} is marked as failed.`);
      sure.addEventListener("click", fail);
      reason.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();  // Enter in this field must not tell a value
        fail();
      });
      const form = el("form", { class: "controls" }, el("label", { for: input.id }, "value"), input, tell, failed, extra);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const value = this.value(input);
        if (value !== null) this.change(tell, "/api/tell", { trial: id, value }, () => `Trial ${id} has the value ${value}.`);
      });
      return el("li", { "data-trial": String(id) }, el("span", { class: "who" }, `Trial ${id}`), params(entries), form);
    }

    // Rows are kept while they stay: what somebody is typing must survive an update.
    update(data) {
      const pending = data.trials.id.filter((_, i) => data.trials.state[i] === "pending");
      const waiting = pending.slice(0, MOST_PENDING);
      this.rest.textContent = pending.length > waiting.length ? `and ${pending.length - waiting.length} more` : "";
      const shown = new Set(waiting);
      for (const [id, node] of this.items) {
        if (shown.has(id)) continue;
        node.remove();
        this.items.delete(id);
      }
      for (const id of waiting) {
        if (this.items.has(id)) continue;
        this.items.set(id, this.pending(id, data.params(id)));
        this.list.append(this.items.get(id));
      }
      this.parameters = data.study.parameters;
      const shape = JSON.stringify(this.parameters);
      if (shape !== this.shape) {
        this.shape = shape;
        this.buildElsewhere();
      }
    }

    forget() {
      this.items.clear();
      fill(this.list);
      this.say("");
    }

    buildElsewhere() {
      this.inputs = this.parameters.map((p, j) => {
        if (p.type === "categorical") {
          return el("select", { id: `p-${j}` }, el("option", { value: "" }, ""), ...p.labels.map((text, i) => el("option", { value: String(i) }, text)));
        }
        return el("input", { type: "text", inputmode: "decimal", autocomplete: "off", id: `p-${j}` });
      });
      this.inputs.forEach((input, j) => {
        if (this.parameters[j].type === "categorical" && this.parameters[j].labels.length === 1) input.selectedIndex = 1;
      });
      const hint = (p) => {
        const range = p.type === "categorical" ? "one of these" : `${p.type === "int" ? "whole number, " : ""}${number(p.low)} to ${number(p.high)}`;
        return p.conditional ? `${range}; empty where it does not apply` : range;
      };
      this.outcome = el("input", { type: "text", inputmode: "decimal", autocomplete: "off", id: "p-value" });
      fill(this.elsewhere,
        el("div", { class: "fields" },
          ...this.parameters.map((p, j) => el("label", null, p.name, this.inputs[j], el("span", { class: "hint" }, hint(p)))),
          el("label", null, "value", this.outcome, el("span", { class: "hint" }, "the result"))),
        this.tellButton = el("button", { type: "submit", class: "primary" }, "Tell this point"));
    }

    async tellElsewhere(event) {
      event.preventDefault();
      const point = {};
      for (const [j, p] of this.parameters.entries()) {
        const text = this.inputs[j].value.trim();
        if (text === "") continue;  // the study says what is missing
        if (p.type === "categorical") {
          point[p.name] = p.choices[Number(text)];
        } else {
          const value = this.value(this.inputs[j]);
          if (value === null) return;
          point[p.name] = value;
        }
      }
      const value = this.value(this.outcome);
      if (value === null) return;
      if (await this.change(this.tellButton, "/api/tell", { params: point, value }, (answer) => `Told as trial ${answer.trial}.`)) {
        this.outcome.value = "";
      }
    }
  }

  // -- following

  const how = el("div");
  let current = null;  // name of the study
  let seen = { revision: -1, analysis: -1 };
  let study = null, analysis = null;
  const bench = new Bench(() => current, () => look());
  const update = ccgbo.build(document.getElementById("views"), { before: [bench.node], after: [card(12, "How to reproduce it", null, how)] });

  function status(text, kind) {
    if (live.textContent === text) return;
    live.textContent = text;
    live.className = `live ${kind}`;
  }

  async function look() {
    const name = current;
    const now = await get("/api/pulse", name);
    const jobs = [];
    if (now.revision !== seen.revision) jobs.push(get("/api/study", name).then((body) => { study = body; }));
    if (now.analysis !== seen.analysis) jobs.push(get("/api/analysis", name).then((body) => { analysis = body; }));
    await Promise.all(jobs);
    if (name !== current || !jobs.length) return;
    seen = now;
    bench.update(update(study, analysis));
  }

  async function follow() {
    try {
      if (current === null) await listStudies();
      if (current !== null) {
        await look();
        status("live", "on");
      }
    } catch (error) {
      status(error instanceof TypeError ? "connection lost, trying again" : error.message, "off");
    }
    setTimeout(follow, document.hidden ? 5 * PERIOD : PERIOD);
  }

  async function listStudies() {
    const found = await get("/api/studies");
    const names = found.studies.map((s) => s.name);
    document.title = `${found.file} · ccgbo`;
    fill(chooser, ...found.studies.map((s, i) => el("option", { value: String(i) }, `${s.name} (${s.n_complete})`)));
    if (!names.length) {
      status("this file has no study yet", "off");
      return;
    }
    const wanted = new URLSearchParams(location.search).get("study");
    const index = Math.max(names.indexOf(wanted), 0);
    chooser.selectedIndex = index;
    chooser.onchange = () => {
      choose(names[chooser.selectedIndex]);
      look().then(() => status("live", "on"), (error) => status(error.message, "off"));
    };
    choose(names[index]);
  }

  function choose(name) {
    current = name;
    seen = { revision: -1, analysis: -1 };
    study = null;
    analysis = null;
    title.textContent = name;
    history.replaceState(null, "", `?${new URLSearchParams({ study: name })}`);
    bench.forget();
    get("/api/reproduction", name).then((info) => ccgbo.reproduce(how, info), () => fill(how));
  }

  follow();
})();
