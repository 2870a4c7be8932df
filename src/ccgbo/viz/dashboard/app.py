"""The addresses of the dashboard. Every answer comes from the one study file or from the files in ASSETS.

GET  /                                the page
GET  /assets/{name}                   script, style, plotting library
GET  /api/studies                     the studies of the file
GET  /api/pulse?study=                versions of the two below
GET  /api/study?study=&since=         trials: all, or what changed after a version
GET  /api/analysis?study=             credits, story, maps
GET  /api/reproduction?study=         settings, versions, code
POST /api/ask       {study}
POST /api/tell      {study, trial, value}  or  {study, params, value}
POST /api/fail      {study, trial, reason}
"""

from __future__ import annotations

import contextlib
import json
import math
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ccgbo.errors import CcgboError, StudyNotFoundError, TellError
from ccgbo.records import Trial
from ccgbo.study import Study
from ccgbo.versions import versions
from ccgbo.viz.assets import VIEWS, asset
from ccgbo.viz.dashboard.follow import Answer, Followers
from ccgbo.viz.dashboard.guard import Guard
from ccgbo.viz.dashboard.words import without_folder
from ccgbo.viz.report import fill

ASSETS = {  # all that can be fetched by name
    **dict.fromkeys([*VIEWS, "dashboard.js"], "text/javascript"),
    "style.css": "text/css",
}
LARGEST_BODY = 100_000  # bytes
LONGEST_INT = len(str(2**63))  # digits


class Refused(Exception):
    """A request that cannot be done, with the words to say so."""


def create_app(path: Path, *, secret: str, port: int, token: str | None, local: bool = True) -> Starlette:
    """The dashboard of one study file; ``secret`` is what only its own page knows, ``token`` what a visitor must.

    ``local`` where only this machine can connect.
    """
    followers = Followers(path)
    api = Api(path, followers)
    # browsers keep the files of an address: those of another version of this package must not be taken for these
    stamp = f"{zlib.crc32(''.join(map(asset, ASSETS)).encode()):08x}"

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        followers.close()

    async def page(_: Request) -> Response:
        parts = {"secret": secret, "version": versions()["ccgbo"], "stamp": stamp}
        return HTMLResponse(fill(asset("dashboard.html"), parts))

    return Starlette(
        routes=[
            Route("/", page),
            Route("/assets/{name}", serve_asset),
            Route("/api/studies", api.get(api.studies)),
            Route("/api/pulse", api.get(api.pulse)),
            Route("/api/study", api.get(api.study)),
            Route("/api/analysis", api.get(api.analysis)),
            Route("/api/reproduction", api.get(api.reproduction)),
            Route("/api/ask", api.post(api.ask), methods=["POST"]),
            Route("/api/tell", api.post(api.tell), methods=["POST"]),
            Route("/api/fail", api.post(api.fail), methods=["POST"]),
        ],
        middleware=[Middleware(Guard, token=token, local=local, secret=secret, port=port)],
        lifespan=lifespan,
    )


async def serve_asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        return PlainTextResponse("There is no such file.\n", 404)
    return Response(asset(name), media_type=ASSETS[name], headers={"Cache-Control": "max-age=3600"})


class Api:
    """What the page asks and does; every change goes through Study, as from Python and the command line."""

    def __init__(self, path: Path, followers: Followers) -> None:
        self._path, self._followers = path, followers

    # -- how a request becomes an answer

    def get(self, answer: Callable[[Request, str], Response]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            return await self._answer(answer, request, request.query_params.get("study", ""))

        return endpoint

    def post(self, change: Callable[[Study, dict[str, Any]], Trial]) -> Callable[[Request], Any]:
        def answer(body: bytes) -> Response:
            given = _parsed(body)
            with Study(self._path, name=_text(given, "study")) as study:
                trial = change(study, given)
            return JSONResponse({"trial": trial.id, "state": trial.state})

        async def endpoint(request: Request) -> Response:
            body = await _body(request)
            if body is None:
                return JSONResponse({"error": "The request is too large."}, 413)
            return await self._answer(answer, body)

        return endpoint

    async def _answer(self, answer: Callable[..., Response], *given: Any) -> Response:
        """In a thread, since a study waits for its file; errors that were meant for people reach them."""
        try:
            return await run_in_threadpool(answer, *given)
        except (CcgboError, Refused) as error:
            words = without_folder(str(error), self._path)
            return JSONResponse({"error": words}, 404 if isinstance(error, StudyNotFoundError) else 400)

    # -- looking

    def studies(self, _: Request, __: str) -> Response:
        infos = [asdict(info) for info in self._followers.studies()]
        return JSONResponse({"file": self._path.name, "studies": infos})

    def pulse(self, _: Request, name: str) -> Response:
        return JSONResponse(self._followers.get(name).pulse())

    def study(self, request: Request, name: str) -> Response:
        return _shared(request, self._followers.get(name).study(request.query_params.get("since", "")))

    def analysis(self, request: Request, name: str) -> Response:
        version, body = self._followers.get(name).analysis()
        return _shared(request, body, {"X-Version": version})

    def reproduction(self, _: Request, name: str) -> Response:
        return JSONResponse(self._followers.get(name).reproduction(self._path.name))

    # -- doing

    def ask(self, study: Study, _: dict[str, Any]) -> Trial:
        return study.ask()

    def tell(self, study: Study, given: dict[str, Any]) -> Trial:
        value = given.get("value")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Refused(f"value must be a finite number, got {value!r}.")
        if "params" in given:
            if not isinstance(given["params"], dict):
                raise Refused(f"params must be an object, got {given['params']!r}.")
            return study.tell(given["params"], value)
        return study.tell(_trial(given), value)

    def fail(self, study: Study, given: dict[str, Any]) -> Trial:
        reason = given.get("reason") or None
        if reason is not None and not isinstance(reason, str):
            raise Refused(f"reason must be a text, got {reason!r}.")
        return study.tell(_trial(given), failed=True, error=reason)


def _shared(request: Request, answer: Answer, headers: dict[str, str] | None = None) -> Response:
    """A body that is made, and made small, once for all who ask for it."""
    packed = "gzip" in request.headers.get("accept-encoding", "")
    more = {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if packed else {}) | (headers or {})
    return Response(answer.compressed if packed else answer.body, media_type="application/json", headers=more)


async def _body(request: Request) -> bytes | None:
    """The body, or None where it is longer than any form of ours."""
    parts, length = [], 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > LARGEST_BODY:
            return None
        parts.append(chunk)
    return b"".join(parts)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body, parse_int=_number)
        json.dumps(given, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("the request must be text that can be stored: it has half a surrogate pair.") from None
    except (ValueError, RecursionError):
        raise Refused("the request must be JSON.") from None
    if not isinstance(given, dict):
        raise Refused("the request must be a JSON object.")
    return given


def _number(digits: str) -> int | float:
    """A whole number, or where it could be beyond what a file holds a float, infinite if it is beyond those, too."""
    return int(digits) if len(digits) < LONGEST_INT else float(digits)


def _text(given: dict[str, Any], name: str) -> str:
    if not isinstance(given.get(name), str) or not given[name]:
        raise Refused(f"{name} must be a non-empty text, got {given.get(name)!r}.")
    text: str = given[name]
    return text


def _trial(given: dict[str, Any]) -> int:
    trial = given.get("trial")
    if isinstance(trial, bool) or not isinstance(trial, int):
        raise TellError(f"trial must be a trial's id, got {trial!r}.")
    return trial
