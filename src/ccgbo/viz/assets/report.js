// Shows the study that this file carries.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const how = ccgbo.el("div");
  ccgbo.reproduce(how, data.reproduction);
  document.getElementById("title").textContent = data.title;
  document.getElementById("file").textContent = data.file || "";
  document.title = [data.title, data.file, "ccgbo"].filter(Boolean).join(" · ");
  const update = ccgbo.build(document.getElementById("views"), { after: [ccgbo.card(12, "How to reproduce it", null, how)] });
  update(data.study, data.analysis);
})();
