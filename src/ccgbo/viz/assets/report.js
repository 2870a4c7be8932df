// Shows the study that this file carries.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const how = ccgbo.el("div");
  ccgbo.reproduce(how, data.reproduction);
  document.getElementById("title").textContent = data.title;
  document.title = data.title;
  const update = ccgbo.build(document.getElementById("views"), { after: [ccgbo.card(12, "How to reproduce it", null, how)] });
  update(data.study, data.analysis);
})();
