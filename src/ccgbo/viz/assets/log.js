// What was changed by hand: who, when, before and after.
"use strict";

ccgbo.Log = (() => {
  const { el, fill, say } = ccgbo;

  class Log {
    constructor() {
      this.body = el("tbody");
      this.rest = el("p", { class: "note" });
      this.table = el("div", { class: "scroll log", tabindex: "0", role: "region", "aria-label": "changed by hand" },
        el("table", { id: "log" }, el("thead", null, el("tr", null, ...["when", "who", "what", "change"].map((text) => el("th", { scope: "col" }, text)))), this.body));
      this.node = el("div", null, this.table, this.rest);
      this.key = null;
    }
    update(data) {
      const { count, events } = data.study.log;
      const key = JSON.stringify([count, events[0]]);
      if (key === this.key) return;
      this.key = key;
      this.table.hidden = count === 0;
      say(this.rest, count === 0 ? "Nothing was changed by hand yet." : events.length < count ? `and ${count - events.length} earlier ones, which “ccgbo log” shows` : "");
      fill(this.body, ...events.map((event) => this.line(event)));
    }
    line({ at, who, action, trial, changes, note }) {
      const said = changes.join(", ").replaceAll(" -> ", " → ");
      return el("tr", null,
        el("td", null, el("time", { datetime: new Date(1000 * at).toISOString() }, clock(at))),
        el("td", null, who),
        el("td", null, trial === null ? action : `${action} trial ${trial}`),
        el("td", null, [said, note && (said ? `(${note})` : note)].filter(Boolean).join(" ")));
    }
  }

  // In the time of whoever reads it.
  function clock(at) {
    const t = new Date(1000 * at);
    const two = (n) => String(n).padStart(2, "0");
    return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}`;
  }

  return Log;
})();
