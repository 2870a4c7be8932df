// Follows a study: asks every second whether anything changed, and fetches what did.
// Trials come whole once and then as changes since the version that is here.
"use strict";

(() => {
  const { Bench, Comparison, Editor, card, el, fill, net, options, say } = ccgbo;
  const PERIOD = 1000;  // milliseconds between two looks
  const CALM = 30;  // looks without news after which there are half as many
  const LISTING = 2;  // looks between two lists of the studies
  const title = document.getElementById("title");
  const chooser = document.getElementById("study");
  const live = document.getElementById("live");
  const trouble = document.getElementById("trouble");
  const views = document.getElementById("views");

  // -- following

  const how = el("div");
  let current = null;  // name of the study
  let seen = { revision: "", analysis: "" };
  let study = null, analysis = null;
  let shown = null;  // both, as the page shows them
  let calm = 0, looks = 0;  // looks without news, all looks
  const bench = new Bench(() => current, () => lookAndSay());
  const editor = new Editor(bench.desk);
  const edit = { name: (id) => `change trial ${id}`, act: (id) => editor.open(shown, id) };
  const comparison = new Comparison(() => current);
  const update = ccgbo.build(views, { before: [bench.node], after: [comparison.node, card(12, "How to reproduce it", null, how)], edit });
  document.body.append(editor.node);

  // Either all is well, or what is wrong stands above what was last read.
  function status(error) {
    const text = error === null ? "live" : error instanceof TypeError ? "connection lost, trying again" : "not up to date";
    if (live.textContent !== text) {
      live.textContent = text;
      live.className = `live ${error === null ? "on" : "off"}`;
    }
    trouble.hidden = error === null;
    const words = error === null ? "" : net.wordsOf(error);
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
      for (const [key, column] of Object.entries(news)) {
        if (key === "at" || key === "values") column.forEach((values, j) => { trials[key][j][i] = values[k]; });
        else if (Array.isArray(column)) trials[key][i] = column[k];
        else if (id in column) trials[key][id] = column[id];
        else delete trials[key][id];
      }
    });
    const { best, front, hypervolume, log, revision } = changes;
    Object.assign(study, { best, front, hypervolume, log, revision });
    return true;
  }

  async function look() {
    const name = current;
    const now = await net.get("/api/pulse", { study: name });
    if (name !== current) return;
    const jobs = [];
    if (now.revision !== seen.revision) {
      const since = study === null ? "" : study.revision;
      jobs.push(net.get("/api/study", { study: name, since }).then((body) => {
        if (name === current && merge(body)) seen.revision = body.revision;
      }));
    }
    if (now.analysis !== seen.analysis) {
      jobs.push(net.get("/api/analysis", { study: name }).then((body) => {
        if (name !== current) return;
        analysis = body;
        seen.analysis = now.analysis;
      }));
    }
    await Promise.all(jobs);
    calm = jobs.length ? 0 : calm + 1;
    if (name !== current || !jobs.length || study === null) return;
    const series = (version) => version.split(".")[0];
    if (series(seen.analysis) !== series(study.revision)) analysis = null;  // of another space
    shown = update(study, analysis);
    bench.update(shown);
    const option = chooser.options[chooser.selectedIndex];
    if (option) say(option, titleOf(name, shown.trials.id.length));
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
    const found = await net.get("/api/studies");
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
    comparison.update(found.studies);
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
    net.get("/api/reproduction", { study: name }).then((info) => ccgbo.reproduce(how, info), () => fill(how));
  }

  follow();
})();
