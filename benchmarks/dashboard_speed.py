"""How quick the dashboard is with many trials: first paint, an update, the model's part beside it, and many pages.

    python benchmarks/dashboard_speed.py [--trials 2000] [--pages 20] [--seconds 12] [--no-browser]

Needs the extra [dashboard], Chromium with its driver, and selenium. The server is the real one, in its own process; the
study is a real file. Times are wall-clock, as a browser on this machine sees them.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from ccgbo import Float, Int
from ccgbo.study import Study

SPACE = {
    "rate": Float(1e-5, 1.0, log=True),
    "layers": Int(1, 8),
    "kind": ["relu", "tanh", "gelu"],
    "dropout": Float(0.0, 0.6),
    "decay": Float(0.0, 1.0),
    "width": Int(8, 512, log=True),
}


def value(params: dict[str, object], rng: np.random.Generator) -> float:
    rate, drop = np.log10(float(params["rate"])), float(params["dropout"])  # type: ignore[arg-type]
    return float(np.exp(-(((rate + 2.5) / 0.8) ** 2)) - (drop - 0.2) ** 2 + 0.02 * rng.standard_normal())


def make_study(path: Path, trials: int) -> Study:
    """Told in bulk, then asked for a few: fitted and with explanations, as a study that ran."""
    rng = np.random.default_rng(0)
    study = Study(path, SPACE, name="large", seed=0)
    U = study.space.sample(trials - 20, rng)
    points = [study.space.decode(u) for u in U]
    study.tell_many(points, [value(p, rng) for p in points])
    for _ in range(20):
        trial = study.ask()
        study.tell(trial, value(dict(trial.params), rng))
    return study


class Client:
    """One connection to the server, which asks as the page does."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"}

    def get(self, address: str, **query: str) -> tuple[float, Any]:
        """Seconds and answer."""
        began = time.perf_counter()
        self._connection.request("GET", f"{address}?{urlencode(query)}", headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - began
        assert answer.status == 200, body
        return took, json.loads(gzip.decompress(body) if answer.getheader("Content-Encoding") == "gzip" else body)


def updates(study: Study, client: Client, n: int) -> list[float]:
    """Seconds of the requests that bring one more trial to the page: what changed, then the trials."""
    rng, out = np.random.default_rng(1), []
    seen = client.get("/api/study", study="large")[1]["revision"]
    for _ in range(n):
        point = study.space.decode(study.space.sample(1, rng)[0])
        study.tell(point, value(point, rng))
        pulse, _ = client.get("/api/pulse", study="large")
        trials, body = client.get("/api/study", study="large", since=seen)
        assert body["since"] == seen
        assert body["trials"]["value"][-1] is not None
        seen = body["revision"]
        out.append(pulse + trials)
        time.sleep(0.2)
    return out


def many_pages(study: Study, connect: Callable[[], Client], n: int, seconds: float) -> tuple[list[float], list[float]]:
    """Seconds of each update of n pages that look every second, and of each ask and tell beside them."""
    until = time.monotonic() + seconds
    lock, looks, steps = threading.Lock(), [], []

    def page() -> None:
        client, seen = connect(), {"revision": "", "analysis": ""}
        first = True
        while time.monotonic() < until:
            took, now = client.get("/api/pulse", study="large")
            if now["revision"] != seen["revision"]:
                more, body = client.get("/api/study", study="large", since=seen["revision"])
                took, seen["revision"] = took + more, body["revision"]
            if now["analysis"] != seen["analysis"]:
                took += client.get("/api/analysis", study="large")[0]
                seen["analysis"] = now["analysis"]
            with lock:
                looks.extend([] if first else [took])  # the first one brings all trials
            first = False
            time.sleep(1.0)

    pages = [threading.Thread(target=page) for _ in range(n)]
    for each in pages:
        each.start()
    rng = np.random.default_rng(2)
    while time.monotonic() < until:
        began = time.perf_counter()
        point = study.space.decode(study.space.sample(1, rng)[0])
        study.tell(point, value(point, rng))
        steps.append(time.perf_counter() - began)
        time.sleep(0.2)
    for each in pages:
        each.join()
    return looks, steps


def said(times: list[float]) -> str:
    low, high = np.quantile(times, [0.5, 0.95])
    return f"{1e3 * low:7.0f} ms median, {1e3 * high:.0f} ms p95, {1e3 * max(times):.0f} ms most"


def until_analysed(client: Client) -> tuple[float, float]:
    """Seconds until the credits are there, and until everything is."""
    began, credits = time.perf_counter(), 0.0
    while True:
        client.get("/api/study", study="large")
        client.get("/api/pulse", study="large")
        analysis = client.get("/api/analysis", study="large")[1]
        if "credits" in analysis and not credits:
            credits = time.perf_counter() - began
        if "over_time" in analysis:
            return credits, time.perf_counter() - began
        time.sleep(0.1)


def first_paint(address: str) -> dict[str, float]:
    """Milliseconds from navigation until something, the trials and their plot are shown, in a fresh Chromium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"):
        options.add_argument(flag)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options.add_argument(f"--user-data-dir={profile}")
        browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            browser.execute_cdp_cmd(
                "Page.addScriptToEvaluateOnNewDocument",
                {
                    "source": """
                    window.at = {};
                    const wanted = {table: '#trials tbody tr', plot: '.plot .main-svg .points path'};
                    new MutationObserver(() => {
                      for (const [name, what] of Object.entries(wanted))
                        if (!window.at[name] && document.querySelector(what)) window.at[name] = performance.now();
                    }).observe(document, {childList: true, subtree: true});
                    """
                },
            )
            browser.get(address)
            WebDriverWait(browser, 30).until(lambda b: b.execute_script("return window.at.table && window.at.plot"))
            script = """
                const paint = performance.getEntriesByName('first-contentful-paint')[0];
                return [['first paint', paint.startTime], ['trials in the table', window.at.table],
                        ['progress plot', window.at.plot]];
            """
            return dict(browser.execute_script(script))
        finally:
            browser.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--no-browser", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.db"
        study = make_study(path, given.trials)
        alone = many_pages(study, lambda: None, 0, 3.0)[1]  # type: ignore[arg-type, return-value]
        command = [sys.executable, "-m", "ccgbo", "dashboard", str(path), "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", server.stdout.readline())
            assert found is not None
            port, token = int(found[1]), found[2]
            client = Client(port, token)
            print(f"{given.trials} trials, {len(study.space)} parameters")
            for name, ms in {} if given.no_browser else first_paint(found[0]).items():
                print(f"  {name:<28} {ms:7.0f} ms after navigation")
            print(f"  {'update, analysis running':<28} {said(updates(study, client, 10))}")
            looks, steps = many_pages(study, lambda: Client(port, token), given.pages, given.seconds)
            print(f"  {f'update, {given.pages} pages':<28} {said(looks)}")
            print(f"  {'tell, alone':<28} {said(alone)}")
            print(f"  {f'tell, beside {given.pages} pages':<28} {said(steps)}")
            client = Client(port, token)  # the server has let go of the first one
            credits, everything = until_analysed(client)
            print(f"  {'credits known':<28} {1e3 * credits:7.0f} ms later; all views {1e3 * everything:.0f} ms")
            print(f"  {'update, analysis done':<28} {said(updates(study, client, 10))}")
        finally:
            server.terminate()
            server.wait(10)


if __name__ == "__main__":
    main()
