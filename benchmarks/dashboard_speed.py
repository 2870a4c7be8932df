"""How quick the dashboard is with many trials: first paint, an update, and the model's part beside it.

    python benchmarks/dashboard_speed.py [--trials 2000]

Needs the extra [dashboard], Chromium with its driver, and selenium. The server is the real one, in its own process; the
study is a real file. Times are wall-clock, as a browser on this machine sees them.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
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
    """One connection to the server."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, address: str, **query: str) -> tuple[float, bytes]:
        """Seconds and body."""
        began = time.perf_counter()
        self._connection.request("GET", address + ("?" + urlencode(query) if query else ""))
        body = self._connection.getresponse().read()
        return time.perf_counter() - began, body


def updates(study: Study, client: Client, n: int) -> list[float]:
    """Seconds of the requests that bring one more trial to the page: what changed, then the trials."""
    rng, out = np.random.default_rng(1), []
    for _ in range(n):
        point = study.space.decode(study.space.sample(1, rng)[0])
        study.tell(point, value(point, rng))
        pulse, _ = client.get("/api/pulse", study="large")
        trials, body = client.get("/api/study", study="large")
        assert json.loads(body)["trials"]["value"][-1] is not None
        out.append(pulse + trials)
        time.sleep(0.2)
    return out


def until_analysed(client: Client) -> tuple[float, float]:
    """Seconds until the credits are there, and until everything is."""
    began, credits = time.perf_counter(), 0.0
    while True:
        client.get("/api/study", study="large")
        client.get("/api/pulse", study="large")
        analysis = json.loads(client.get("/api/analysis", study="large")[1])
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
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.db"
        study = make_study(path, trials)
        command = [sys.executable, "-m", "ccgbo", "dashboard", str(path), "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
            assert found is not None
            client = Client(int(found[1]))
            print(f"{trials} trials, {len(study.space)} parameters")
            for name, ms in first_paint(found[0]).items():
                print(f"  {name:<28} {ms:7.0f} ms after navigation")
            for label, n in (("update, analysis running", 10), ("update, analysis done", 10)):
                if "done" in label:
                    credits, everything = until_analysed(client)
                    print(f"  {'credits known':<28} {1e3 * credits:7.0f} ms later; all views {1e3 * everything:.0f} ms")
                times = updates(study, client, n)
                print(f"  {label:<28} {1e3 * statistics.median(times):7.0f} ms median, {1e3 * max(times):.0f} ms most")
        finally:
            server.terminate()
            server.wait(10)


if __name__ == "__main__":
    main()
