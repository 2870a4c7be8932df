"""The addresses of the dashboard. Every answer comes from the one study file or from the files in ASSETS.

GET  /                                the page
GET  /assets/{name}                   script, style, plotting library
GET  /api/studies                     the studies of the file
GET  /api/pulse?study=                versions of the two below
GET  /api/study?study=&since=         trials: all, or what changed after a version
GET  /api/analysis?study=             credits, story, maps
GET  /api/reproduction?study=         settings, versions, code
GET  /api/comparison                  the best value of each study so far
GET  /api/space?study=                the space as TOML
GET  /api/export?study=&format=       the trials as a spreadsheet, see tables.py
POST /api/import?study=&name=         a spreadsheet, see tables.py
POST /api/{action}                    what is done by hand, see actions.py
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ccgbo.errors import CcgboError, SpaceError, StudyNotFoundError
from ccgbo.space import space_to_toml
from ccgbo.storage import Place
from ccgbo.study import Study
from ccgbo.versions import versions
from ccgbo.viz.assets import BENCH, VIEWS, asset
from ccgbo.viz.dashboard.actions import ACTIONS, Action
from ccgbo.viz.dashboard.follow import Answer, Followers
from ccgbo.viz.dashboard.given import Refused, parsed, text
from ccgbo.viz.dashboard.guard import Guard
from ccgbo.viz.dashboard.tables import LARGEST_UPLOAD, made_table, take_upload
from ccgbo.viz.dashboard.words import without_folder
from ccgbo.viz.report import fill

ASSETS = {  # all that can be fetched by name
    **dict.fromkeys([*VIEWS, *BENCH, "dashboard.js"], "text/javascript"),
    "style.css": "text/css",
}
LARGEST_BODY = 100_000  # bytes of a form


def create_app(path: Place, *, secret: str, port: int, token: str | None, local: bool = True) -> Starlette:
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
            Route("/api/comparison", api.get(api.comparison)),
            Route("/api/space", api.get(api.space)),
            Route("/api/export", api.get(api.export)),
            Route("/api/import", api.upload(), methods=["POST"]),
            *(Route(f"/api/{name}", api.post(action), methods=["POST"]) for name, action in ACTIONS.items()),
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

    def __init__(self, path: Place, followers: Followers) -> None:
        self._path, self._followers = path, followers

    # -- how a request becomes an answer

    def get(self, answer: Callable[[Request, str], Response]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            return await self._answer(answer, request, request.query_params.get("study", ""))

        return endpoint

    def post(self, action: Action) -> Callable[[Request], Any]:
        """A form of the page."""

        def answer(body: bytes) -> Response:
            given = parsed(body)
            with Study(self._path, name=text(given, "study")) as study:
                return JSONResponse(action(study, given))

        async def endpoint(request: Request) -> Response:
            body = await body_of(request, LARGEST_BODY)
            return _too_large(LARGEST_BODY) if body is None else await self._answer(answer, body)

        return endpoint

    def upload(self) -> Callable[[Request], Any]:
        """A file, which is the body itself."""

        def answer(query: Mapping[str, str], body: bytes) -> Response:
            with Study(self._path, name=text(query, "study")) as study:
                return JSONResponse(take_upload(study, query, body))

        async def endpoint(request: Request) -> Response:
            body = await body_of(request, LARGEST_UPLOAD)
            return (
                _too_large(LARGEST_UPLOAD) if body is None else await self._answer(answer, request.query_params, body)
            )

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

    def comparison(self, _: Request, __: str) -> Response:
        return JSONResponse({"studies": self._followers.comparison()})

    def pulse(self, _: Request, name: str) -> Response:
        return JSONResponse(self._followers.get(name).pulse())

    def study(self, request: Request, name: str) -> Response:
        return _shared(request, self._followers.get(name).study(request.query_params.get("since", "")))

    def analysis(self, request: Request, name: str) -> Response:
        version, body = self._followers.get(name).analysis()
        return _shared(request, body, {"X-Version": version})

    def reproduction(self, _: Request, name: str) -> Response:
        return JSONResponse(self._followers.get(name).reproduction(self._path.name))

    def space(self, _: Request, name: str) -> Response:
        """The space to be edited; some have no TOML, and then it is said why."""
        try:
            return JSONResponse({"toml": space_to_toml(self._followers.get(name).space)})
        except SpaceError as error:
            return JSONResponse({"toml": None, "why": str(error)})

    def export(self, request: Request, name: str) -> Response:
        with Study(self._path, name=self._followers.get(name).name) as study:
            data, kind, file = made_table(study, request.query_params.get("format", "csv"))
        return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{file}"'})


def _shared(request: Request, answer: Answer, headers: dict[str, str] | None = None) -> Response:
    """A body that is made, and made small, once for all who ask for it."""
    packed = "gzip" in request.headers.get("accept-encoding", "")
    more = {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if packed else {}) | (headers or {})
    return Response(answer.compressed if packed else answer.body, media_type="application/json", headers=more)


def _too_large(most: int) -> Response:
    return JSONResponse({"error": f"The request is too large: {most:,} bytes at most."}, 413)


async def body_of(request: Request, most: int) -> bytes | None:
    """The body, or None where it is longer than ``most`` bytes."""
    parts, length = [], 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > most:
            return None
        parts.append(chunk)
    return b"".join(parts)
