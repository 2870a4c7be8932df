// What a lab can act on: what is next, whether to believe the model, whether to stop, and what rules other places out.
"use strict";

ccgbo.advice = (() => {
  const { el, fill, number } = ccgbo;

  // Filled anew only where it is another: what somebody has opened stays open.
  function keep(node, key, make) {
    const text = JSON.stringify(key);
    if (node.shown === text) return;
    node.shown = text;
    fill(node, ...make());
  }

  function entries(pairs) {
    return el("dl", { class: "params" }, ...pairs.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, number(value)))));
  }

  function bar(share, kind = "") {
    const node = el("span", { class: `bar ${kind}`, "aria-hidden": "true" });
    node.style.width = `${Math.max(Math.round(60 * share), 2)}px`;
    return node;
  }

  // The suggestions that wait for a value, each with what is expected and why.
  function next(node, data, wait) {
    const known = new Map((data.analysis.next || []).map((n) => [n.id, n]));
    const waiting = data.trials.id.filter((_, i) => data.trials.state[i] === "pending");
    const shown = waiting.slice(0, 12);
    const line = (id) => {
      const said = known.get(id);
      return el("li", null,
        el("span", { class: "who" }, `Trial ${id}`),
        said ? ` · expected ${said.metrics ? ccgbo.metricViews.expected(said.metrics) : `${number(said.mean)} ± ${number(said.std, 2)}`}` : "",
        said && typeof said.feasibility === "number" ? ` · feasible with probability ${number(said.feasibility, 2)}` : "",
        entries(data.params(id)),
        said ? el("details", null, el("summary", null, `why trial ${id}?`), ...said.why.map((text) => el("p", { class: "note" }, text))) : el("p", { class: "note" }, "no prediction yet"));
    };
    keep(node, [waiting, shown.map((id) => [known.get(id), data.params(id)]), wait], () => [
      waiting.length ? el("ul", { class: "waiting" }, ...shown.map(line)) : el("p", null, "No suggestion is waiting for a value."),
      waiting.length > shown.length ? el("p", { class: "note" }, `and ${waiting.length - shown.length} more`) : null,
    ]);
  }

  // Whether more evaluations are worth their while.
  function stop(node, data, wait) {
    const { believe } = data.analysis;
    if (!believe) return fill(node, el("p", { class: "note" }, wait));
    if (!believe.gains.length) return fill(node, el("p", { class: "note" }, data.metrics === null ? "This cannot be told here: too little is known, or the surrogate knows no covariances."
      : "This cannot be told here: nothing feasible is known yet, there are more than three objectives, or the surrogate knows no covariances."));
    const better = data.study.direction === "maximize" ? "higher" : "lower";
    return fill(node, ...believe.gains.map((gain) => el("p", null, gain.text)),
      el("p", { class: "note" }, "Played through on functions drawn from what the model believes; it is as right as the model is. " +
        (data.several ? "A gain is how much the volume that the front dominates grows, on the scale of the models."
          : `A gain is how much ${better} the value of the ${data.bounded ? "best feasible" : "recommended"} point becomes.`)));
  }

  // How well the model predicts what it has not seen, and what speaks against it.
  function believe(node, data, wait) {
    const { believe: found } = data.analysis;
    if (!found) return fill(node, el("p", { class: "note" }, wait));
    const concerns = found.concerns.map((c) => el("li", null, c.text));
    return fill(node,
      ...found.summary.map((text) => el("p", null, text)),
      concerns.length ? el("ul", { class: "concerns" }, ...concerns) : el("p", { class: "fine" }, "Nothing speaks against the model."));
  }

  // What is known not to be there, and because of which evaluations.
  function elsewhere(node, data, wait) {
    const { influence } = data.analysis;
    if (influence === undefined) return fill(node, el("p", { class: "note" }, wait));
    if (data.analysis.only_plain) return fill(node, el("p", { class: "note" }, data.analysis.only_plain.influence));
    if (influence === null) return fill(node, el("p", { class: "note" }, "Leaving out each observation in turn is not done for this study: it has too many, or its surrogate cannot."));
    if (!influence.chapters.length) return fill(node, el("p", { class: "note" }, "No single observation decides: without any of them the optimum would be sought at the same place."));
    const chapter = (c) => el("li", null,
      el("span", { class: "who" }, `Trial ${c.id}`),
      ` · value ${number(c.value)} · worth ${number(c.worth, 2)}`,
      bar(c.share, "worth"),
      el("div", null, c.elsewhere
        ? `Without it the best would be sought elsewhere in ${Math.round(100 * c.doubt)} % of the functions that fit, and ${number(c.worth, 2)} lost on average; for example at`
        : `Without it ${number(c.worth, 2)} would be lost on average.`),
      c.elsewhere ? entries(c.elsewhere) : null,
      c.instead === null ? null : el("div", null, `Trial ${c.instead} would be recommended instead.`));
    return fill(node, el("p", null, "It is probably not elsewhere, because of these experiments: each was left out in turn, and what would be believed without it was asked."),
      el("ol", { class: "story worth" }, ...influence.chapters.map(chapter)),
      el("p", { class: "note" }, "Worth is what acting without the experiment would cost, in the unit of the values. Of two alike none is worth much: the other would do."));
  }

  return { believe, elsewhere, next, stop };
})();
