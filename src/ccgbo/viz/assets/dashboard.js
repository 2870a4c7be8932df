// Follows a study: asks every second whether anything changed, fetches what did, and sends what is told by hand.
// Trials come whole once and then as changes since the version that is here.
"use strict";

(() => {
  const { card, el, fill, number, options, params, say } = ccgbo;
  const SECRET = document.querySelector('meta[name="page-secret"]').content;
  const MOST_PENDING = 24;  // forms shown at once
  const PERIOD = 1000;  // milliseconds between two looks
  const CALM = 30;  // looks without news after which there are half as many
  const LISTING = 2;  // looks between two lists of the studies
  const title = document.getElementById("title");
  const chooser = document.getElementById("study");
  const live = document.getElementById("live");
  const trouble = document.getElementById("trouble");
  const views = document.getElementById("views");

  async function answerOf(answer) {
    const text = await answer.text();
    let body = null;
    try { body = JSON.parse(text); } catch { /* plain text says it */ }
    if (!answer.ok) throw new Error((body && body.error) || text.trim() || answer.statusText);
    return body;
  }

  async function get(address, query) {
    return answerOf(await fetch(query === undefined ? address : `${address}?${new URLSearchParams(query)}`));
  }

  async function post(address, body) {
    return answerOf(await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Page-Secret": SECRET },
      body: JSON.stringify(body),
    }));
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
        await this.refresh();  // what is wrong then is said elsewhere: what was done is done
        this.say(done(answer));
        return true;
      } catch (error) {
        this.say(wordsOf(error), true);
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
        if (shown.has(id) && node.point === JSON.stringify(data.params(id))) continue;  // another point: another file
        node.remove();
        this.items.delete(id);
      }
      for (const id of waiting) {
        if (this.items.has(id)) continue;
        const node = this.pending(id, data.params(id));
        node.point = JSON.stringify(data.params(id));
        this.items.set(id, node);
        this.list.append(node);
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
  let seen = { revision: "", analysis: "" };
  let study = null, analysis = null;
  let calm = 0, looks = 0;  // looks without news, all looks
  const bench = new Bench(() => current, () => lookAndSay());
  const update = ccgbo.build(views, { before: [bench.node], after: [card(12, "How to reproduce it", null, how)] });

  function wordsOf(error) {
    return error instanceof TypeError ? "the dashboard does not answer: it was ended, or the connection is lost." : error.message;
  }

  // Either all is well, or what is wrong stands above what was last read.
  function status(error) {
    const text = error === null ? "live" : error instanceof TypeError ? "connection lost, trying again" : "not up to date";
    if (live.textContent !== text) {
      live.textContent = text;
      live.className = `live ${error === null ? "on" : "off"}`;
    }
    trouble.hidden = error === null;
    const words = error === null ? "" : wordsOf(error);
    say(trouble, words && `${words[0].toUpperCase()}${words.slice(1)}${study === null ? "" : " Below is what was read last."}`);
    views.classList.toggle("stale", error !== null && study !== null);
  }

  // What changed, put in its place; false where it does not belong to what is here.
  function merge(changes) {
    if (changes.since === null) {
      study = changes;
      return true;
    }
    if (study === null || changes.since !== study.revision) return false;
    const { trials } = study, { trials: news } = changes;
    const row = new Map(trials.id.map((id, i) => [id, i]));
    news.id.forEach((id, k) => {
      const i = row.has(id) ? row.get(id) : trials.id.length;
      for (const [key, part] of Object.entries(trials)) {
        if (key === "at") part.forEach((column, j) => { column[i] = news.at[j][k]; });
        else if (Array.isArray(part)) part[i] = news[key][k];
        else if (id in news[key]) part[id] = news[key][id];
        else delete part[id];
      }
    });
    Object.assign(study, { best: changes.best, revision: changes.revision });
    return true;
  }

  async function look() {
    const name = current;
    const now = await get("/api/pulse", { study: name });
    if (name !== current) return;
    const jobs = [];
    if (now.revision !== seen.revision) {
      const since = study === null ? "" : study.revision;
      jobs.push(get("/api/study", { study: name, since }).then((body) => {
        if (name === current && merge(body)) seen.revision = body.revision;
      }));
    }
    if (now.analysis !== seen.analysis) {
      jobs.push(get("/api/analysis", { study: name }).then((body) => {
        if (name !== current) return;
        analysis = body;
        seen.analysis = now.analysis;
      }));
    }
    await Promise.all(jobs);
    calm = jobs.length ? 0 : calm + 1;
    if (name !== current || !jobs.length || study === null) return;
    const data = update(study, analysis);
    bench.update(data);
    const option = chooser.options[chooser.selectedIndex];
    if (option) say(option, titleOf(name, data.trials.id.length));
  }

  async function lookAndSay() {
    try {
      if (looks % LISTING === 0 || !trouble.hidden || current === null) await listStudies();
      looks += 1;
      if (current !== null) await look();
      if (current !== null) status(null);
    } catch (error) {
      calm = 0;
      status(error);
    }
  }

  async function follow() {
    const began = performance.now();
    await lookAndSay();
    const took = performance.now() - began;  // a server that has much to do is asked less often
    const period = document.hidden ? 5 * PERIOD : calm > CALM ? 2 * PERIOD : PERIOD;
    setTimeout(follow, Math.max(period, 3 * took));
  }

  function titleOf(name, n) {
    return `${name} (${n})`;
  }

  async function listStudies() {
    const found = await get("/api/studies");
    const names = found.studies.map((s) => s.name);
    const titles = found.studies.map((s) => titleOf(s.name, s.n_trials));
    say(document.getElementById("file"), found.file);
    document.title = `${current === null ? "" : `${current} · `}${found.file} · ccgbo`;
    if (current === null && names.length) {
      const wanted = new URLSearchParams(location.search).get("study");
      choose(names.includes(wanted) ? wanted : names[0]);
    }
    if (current !== null && !names.includes(current)) {
      names.push(current);
      titles.push(`${current} (deleted)`);
    }
    options(chooser, names, current, titles);
    if (!names.length) status(new Error(`the file ${found.file} has no study yet. It is shown here once there is one.`));
  }

  chooser.onchange = () => {
    choose(chooser.values[chooser.selectedIndex]);
    lookAndSay();
  };

  function choose(name) {
    current = name;
    seen = { revision: "", analysis: "" };
    study = null;
    analysis = null;
    title.textContent = name;
    history.replaceState(null, "", `?${new URLSearchParams({ study: name })}`);
    bench.forget();
    get("/api/reproduction", { study: name }).then((info) => ccgbo.reproduce(how, info), () => fill(how));
  }

  follow();
})();
