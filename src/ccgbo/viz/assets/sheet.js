// The spreadsheet that goes out and comes back: what it would do is shown before it is done.
"use strict";

ccgbo.Sheet = (() => {
  const { download, el, fill } = ccgbo;
  const { doing } = ccgbo.fields;
  const LARGEST = 5e6;  // bytes
  const FORMS = [["csv", "CSV", "csv"], ["semicolon", "CSV with semicolons and decimal commas", "csv"], ["xlsx", "Excel", "xlsx"]];

  class Sheet {
    constructor(desk) {
      this.desk = desk;
      this.file = el("input", { type: "file", id: "sheet-file", accept: ".csv,.tsv,.txt,.xlsx", onchange: () => this.send(true),
        onclick: () => this.forget() });  // so that the same file can be chosen again after it was edited
      this.amend = el("input", { type: "checkbox", id: "sheet-amend", onchange: () => this.send(true) });
      this.amendLabel = el("label", { hidden: true }, this.amend, "also amend the changed values");
      this.summary = el("p", { id: "sheet-summary" });
      this.lines = el("ul", { class: "changes", id: "sheet-lines" });
      this.button = el("button", { type: "button", class: "primary", disabled: true, onclick: () => this.send(false) }, "Import");
      this.node = el("details", { id: "sheet" }, el("summary", null, "Spreadsheet"),
        el("p", { class: "note" }, "Download the trials, fill values in, and bring the file back: rows are known by their ids, and a file that is imported twice changes nothing."),
        el("div", { class: "controls" }, "download", ...FORMS.map(([form, title, suffix]) => {
          const button = el("button", { type: "button", onclick: () => this.save(button, form, suffix) }, title);
          return button;
        })),
        el("div", { class: "controls" }, el("label", { for: "sheet-file" }, "bring back"), this.file, this.amendLabel, this.button),
        el("div", { "aria-live": "polite" }, this.summary, this.lines));
    }

    save(button, form, suffix) {
      return doing(button, this.desk.say, async () => {
        download(`trials.${suffix}`, await this.desk.file("/api/export", { format: form }));
        this.desk.say("");
      });
    }

    forget() {
      this.file.value = "";
      this.show(null);
    }

    async send(dry) {
      const [file] = this.file.files;
      if (!file) return this.show(null);
      const query = { name: file.name, amend: String(this.amend.checked), dry_run: String(dry) };
      const answer = await doing(this.button, this.desk.say, async () => {
        if (file.size > LARGEST) throw new Error(`The file is too large: ${file.size} bytes, ${LARGEST} at most.`);
        const data = await file.arrayBuffer().catch(() => { throw new Error(`${file.name} was changed since it was chosen: choose it again.`); });
        const found = await this.desk.upload("/api/import", query, data, !dry);
        this.desk.say(dry ? "" : `Imported ${file.name}: ${found.summary}.`);
        return found;
      });
      if (dry || answer === null) return this.show(answer);
      return this.forget();
    }

    // What a file would do; null where there is none to speak of.
    show(plan) {
      this.amendLabel.hidden = plan === null || plan.changed === 0;
      if (plan === null) this.amend.checked = false;
      const does = plan !== null && plan.refused === 0 && plan.told + plan.new + (this.amend.checked ? plan.changed : 0) > 0;
      this.button.disabled = !does;
      this.summary.textContent = plan === null ? "" : `${this.file.files[0].name}: ${does || plan.refused ? "" : "changes nothing; "}${plan.summary}.`;
      fill(this.lines, ...(plan === null ? [] : plan.lines).map((line) => el("li", null, line.replaceAll(" -> ", " → "))),
        plan && plan.more ? el("li", null, `and ${plan.more} more rows`) : null,
        plan && plan.refused ? el("li", { class: "bad" }, "Nothing can be imported while rows are refused.") : null);
    }
  }

  return Sheet;
})();
