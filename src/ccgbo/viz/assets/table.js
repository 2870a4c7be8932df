// The table of all trials: sorted, filtered, in pages, with downloads.
"use strict";

ccgbo.Table = (() => {
  const { arrange, download, el, fill, number, say } = ccgbo;
  const PAGE_ROWS = 50;

  // -- the table of all trials

  class Table {
    constructor(edit = null) {
      this.edit = edit;  // what a button in each row is called and does
      this.sort = { key: "id", down: false };
      this.page = 0;
      this.filter = el("select", { onchange: () => { this.page = 0; this.draw(); } },
        ...["all", "complete", "pending", "failed", "abandoned", "dropped", "outside"].map((s) => el("option", { value: s }, s)));
      this.head = el("tr");
      this.body = el("tbody");
      this.where = el("span", { class: "note", "aria-live": "polite" });
      this.before = el("button", { type: "button", onclick: () => this.turn(-1) }, "← previous");
      this.after = el("button", { type: "button", onclick: () => this.turn(1) }, "next →");
      this.dialog = el("dialog", { "aria-label": "why this point was suggested" });
      this.keys = "";
      this.lines = new Map();
      this.node = el("div", null,
        el("div", { class: "controls" },
          el("label", null, "show ", this.filter),
          el("button", { type: "button", onclick: () => download("trials.csv", new Blob([csv(this.data)], { type: "text/csv" })) }, "CSV"),
          el("button", { type: "button", onclick: () => download("trials.json", new Blob([plainJson(this.data)], { type: "application/json" })) }, "JSON")
        ),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "all trials" },
          el("table", { id: "trials" }, el("thead", null, this.head), this.body)),
        el("div", { class: "controls" }, this.before, this.after, this.where),
        this.dialog
      );
    }
    update(data) {
      this.data = data;
      this.columns = [
        ["id", "trial", (id) => id],
        ["state", "state", (id) => data.mark(id) || data.state(id)],
        ...(data.metrics === null ? [["value", "value", (id) => data.value(id)]] : data.metrics.names.map((name, k) => [`m${k}`, name, (id) => data.measured(name, id)])),
        ...(data.bounded ? [["feasible", "feasible", (id) => feasible(data, id)]] : []),
        ["credit", "credit", (id) => data.creditOf(id)],
        ...data.names.map((name, j) => [`p${j}`, name, (id) => data.at(j, id), (id) => data.setting(j, id)]),
      ];
      const series = (data.study.revision || "").split(".")[0];  // another one where the file was replaced
      const keys = JSON.stringify([data.study.name, series, ...this.columns.map((c) => c[1])]);
      if (keys !== this.keys) {  // another study
        this.keys = keys;
        this.lines = new Map();
        this.sort = { key: "id", down: false };
        fill(this.head, ...this.columns.map(([key, name]) =>
          el("th", { scope: "col", "data-key": key, class: this.numeric(key) ? "num" : "" }, el("button", { type: "button", onclick: () => this.by(key) }, name))),
          el("th", { scope: "col" }, "note"));
      }
      this.draw();
    }
    numeric(key) {
      if (key === "state" || key === "feasible") return false;
      if (!key.startsWith("p")) return true;
      return this.data.study.parameters[Number(key.slice(1))].type !== "categorical";
    }
    by(key) {
      const { study, metrics } = this.data;
      const wanted = key === "value" ? study.direction : key[0] === "m" ? metrics.objectives[metrics.names[Number(key.slice(1))]] : null;
      this.sort = { key, down: this.sort.key === key ? !this.sort.down : key === "credit" || wanted === "maximize" };
      this.page = 0;
      this.draw();
    }
    turn(step) {
      this.page += step;
      this.draw();
    }
    rows() {
      const { key, down } = this.sort;
      const get = this.columns.find((c) => c[0] === key)[2];
      const wanted = this.filter.value;
      const ids = this.data.trials.id.filter((id) => wanted === "all" || this.columns[1][2](id) === wanted);
      const of = new Map(ids.map((id) => [id, get(id)]));
      return ids.sort((a, b) => {
        const [x, y] = [of.get(a), of.get(b)];
        if (x === y) return a - b;
        if (x === null || x === undefined) return 1;  // what is missing comes last either way
        if (y === null || y === undefined) return -1;
        return (x < y ? -1 : 1) * (down ? -1 : 1);
      });
    }
    draw() {
      const rows = this.rows();
      const pages = Math.max(Math.ceil(rows.length / PAGE_ROWS), 1);
      this.page = Math.min(Math.max(this.page, 0), pages - 1);
      const from = this.page * PAGE_ROWS;
      for (const th of this.head.children) {
        if (th.dataset.key === this.sort.key) th.setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
        else th.removeAttribute("aria-sort");
      }
      arrange(this.body, rows.slice(from, from + PAGE_ROWS).map((id) => this.line(id)));
      this.before.disabled = this.page === 0;
      this.after.disabled = this.page === pages - 1;
      this.where.textContent = rows.length ? `${from + 1}–${Math.min(from + PAGE_ROWS, rows.length)} of ${rows.length}` : "no trials";
    }
    // A row is made once and kept: a credit that changes must not take the focus from a button beside it.
    line(id) {
      if (!this.lines.has(id)) {
        const cells = this.columns.map(([key]) => el("td", { class: this.numeric(key) ? "num" : "" }));
        cells[1].append(el("span"));
        const error = el("span", { class: "error" });
        const more = el("button", { type: "button", "aria-label": `whole error of trial ${id}`,
          onclick: () => this.tell(`How trial ${id} failed`, this.data.trials.error[id]) }, "whole error");
        const why = this.data.trials.why[id];
        const button = why ? el("button", { type: "button", "aria-label": `why suggested? trial ${id}`, onclick: () => this.tell(`Why was trial ${id} suggested?`, why) }, "why suggested?") : null;
        const change = this.edit && el("button", { type: "button", "aria-label": this.edit.name(id), onclick: () => this.edit.act(id) }, "change");
        if (change) cells[1].append(change);  // beside the state: seen on a phone, too
        const kept = el("span", { class: "kept" });
        this.lines.set(id, { row: el("tr", null, ...cells, el("td", null, kept, error, button)), cells, kept, error, more });
      }
      const { row, cells, kept, error, more } = this.lines.get(id);
      this.columns.forEach(([key, , get, show], i) => {
        const value = get(id);
        if (key === "state") {
          cells[i].firstChild.className = `state ${value.replace(",", "")}`;
          say(cells[i].firstChild, value);
        } else {
          say(cells[i], value === null ? "–" : key === "credit" ? value.toFixed(2) : number(show ? show(id) : value));
        }
      });
      const [whole, reason] = [this.data.trials.error[id] || "", this.data.trials.reason[id] || ""];
      say(error, reason || this.data.trials.outside[id] || "");
      say(kept, [this.data.trials.note[id], ...(this.data.trials.tags[id] || []).map((tag) => `#${tag}`)].filter(Boolean).join(" "));
      if (whole.trim().split("\n").length < 3) more.remove();  // of two lines the reason has both
      else if (!more.isConnected) error.after(more);
      return row;
    }
    tell(title, text) {
      this.dialog.setAttribute("aria-label", title);
      fill(this.dialog, el("h2", null, title), el("pre", null, text),
        el("form", { method: "dialog" }, el("button", { class: "primary" }, "close")));
      this.dialog.showModal();
    }
  }

  // Whether the bounds were kept, in a word; nothing where there is no outcome.
  function feasible(data, id) {
    if (data.state(id) !== "complete") return null;
    const kept = data.feasible(id);
    return kept === null ? "not known" : kept ? "yes" : "no";
  }

  function csv(data) {
    const names = data.metrics === null ? ["value"] : data.metrics.names;
    const told = (id) => (data.metrics === null ? [data.value(id)] : names.map((name) => data.measured(name, id)));
    const kept = data.bounded ? ["feasible"] : [];
    const quote = (value) => {
      if (value === null || value === undefined) return "";
      if (typeof value === "number") return String(value);
      const text = String(value);
      return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`;  // no formulas in spreadsheets
    };
    const head = ["id", "state", ...names, ...kept, "credit", ...data.names, "error", "dropped", "note", "tags"];
    const lines = data.trials.id.map((id, i) =>
      [id, data.trials.state[i], ...told(id), ...kept.map(() => feasible(data, id)), data.creditOf(id), ...data.names.map((_, j) => data.setting(j, id)), data.trials.error[id],
        data.trials.dropped[id] ? "dropped" : "", data.trials.note[id], (data.trials.tags[id] || []).join(" ")].map(quote).join(","));
    return [head.map(quote).join(","), ...lines].join("\r\n") + "\r\n";
  }

  // What was measured by name, where metrics have names.
  function named(data, id) {
    if (data.metrics === null) return {};
    const values = data.metrics.names.map((name) => [name, data.measured(name, id)]).filter(([, value]) => value !== null);
    return { values: Object.fromEntries(values), ...(data.bounded ? { feasible: data.state(id) === "complete" ? data.feasible(id) : null } : {}) };
  }

  function plainJson(data) {
    return JSON.stringify(data.trials.id.map((id, i) => ({
      id, state: data.trials.state[i], value: data.trials.value[i], ...named(data, id), credit: data.creditOf(id), params: Object.fromEntries(data.params(id)),
      error: data.trials.error[id] || null, dropped: Boolean(data.trials.dropped[id]), note: data.trials.note[id] || null, tags: data.trials.tags[id] || [],
    })), null, 1);
  }

  return Table;
})();
