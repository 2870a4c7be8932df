// Requests to the dashboard that this page came from, and what to say when it does not answer.
"use strict";

ccgbo.net = (() => {
  const SECRET = document.querySelector('meta[name="page-secret"]').content;

  async function checked(answer) {
    if (answer.ok) return answer;
    const text = await answer.text();
    let body = null;
    try { body = JSON.parse(text); } catch { /* plain text says it */ }
    throw new Error((body && body.error) || text.trim() || answer.statusText);
  }

  function at(address, query) {
    return query === undefined ? address : `${address}?${new URLSearchParams(query)}`;
  }

  async function get(address, query) {
    return (await checked(await fetch(at(address, query)))).json();
  }

  async function file(address, query) {
    return (await checked(await fetch(at(address, query)))).blob();
  }

  async function send(address, type, body) {
    const headers = { "Content-Type": type, "X-Page-Secret": SECRET };
    return (await checked(await fetch(address, { method: "POST", headers, body }))).json();
  }

  const post = (address, body) => send(address, "application/json", JSON.stringify(body));
  const upload = (address, query, body) => send(at(address, query), "application/octet-stream", body);

  function wordsOf(error) {
    return error instanceof TypeError ? "the dashboard does not answer: it was ended, or the connection is lost." : error.message;
  }

  return { file, get, post, upload, wordsOf };
})();
