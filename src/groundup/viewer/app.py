"""The pages: addresses, headers and templates. All state is in the address; nothing is changed."""

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.subjects import AttemptKey
from groundup.reports.columns import shown
from groundup.reports.pages import style
from groundup.reports.plots import plots_of
from groundup.reports.views import figures_view, paper_views, views_of
from groundup.runs import evidence
from groundup.runs.hidden_code import hidden_files
from groundup.runs.reporting import instruction_of, read_report
from groundup.settings import Settings
from groundup.store.attempts import AttemptFolder
from groundup.store.folder import RunFolder, is_held
from groundup.viewer.addresses import whole_number
from groundup.viewer.attempt_page import LOST_SHOWN, better_than, logs_of, lost_of, tests_of
from groundup.viewer.comparing import TASKS_SHOWN, compared
from groundup.viewer.index import RunIndex, RunSummary, fleet_of, under_way
from groundup.viewer.searching import HITS, search_files
from groundup.viewer.templating import templates

RUNS_SHOWN = 100
_REFRESH_S = 2.0
_COOKIE = "groundup-token"
_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; "
    "connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
_STATIC = Path(__file__).parent / "static"


class Guarded:
    """Adds strict headers, and asks for the token where there is one: once in the address, then by a cookie."""

    def __init__(self, app: ASGIApp, token: str | None, hosts: frozenset[str] | None) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        answer = self._refusal(request)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        await (answer or self.app)(scope, receive, sending)

    def _refusal(self, request: Request) -> Response | None:
        # Another site's page can name this server by a domain of its own: only names that were given are served.
        if self.hosts is not None and request.url.hostname not in self.hosts:
            return Response("this server has another name\n", status_code=421, media_type="text/plain")
        if self.token is None:
            return None
        given = request.query_params.get("token", "")
        if hmac.compare_digest(given.encode(), self.token.encode()):
            rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
            answer = RedirectResponse(request.url.path + (f"?{urlencode(rest)}" if rest else ""), status_code=303)
            answer.set_cookie(_COOKIE, self.token, httponly=True, samesite="strict")
            return answer
        if hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), self.token.encode()):
            return None
        return Response("the address needs ?token=...\n", status_code=401, media_type="text/plain")


class Viewer:
    """The pages over the runs of one folder."""

    def __init__(self, settings: Settings, *, still: bool = False) -> None:
        """With *still*, pages are files for others: without what a site lacks, and what hidden tests said."""
        self.settings = settings
        self.still = still
        self.index = RunIndex(settings.output, for_others=still)
        self._templates = templates(still=still)

    def app(self, token: str | None = None, hosts: frozenset[str] | None = None) -> Starlette:
        """Return the application; *hosts* are the names it answers to, None for any."""
        routes = [Route(path, self._page(make)) for path, make in self._pages().items()]
        routes += [
            Route("/run/{run}/events", self._events),
            Route("/static/{name}", _static),
            Route("/favicon.ico", _no_icon),
        ]
        return Starlette(routes=routes, middleware=[Middleware(Guarded, token=token, hosts=hosts)])

    def _pages(self) -> Mapping[str, Callable[[Request], Response]]:
        return {
            "/": self._runs,
            "/compare": self._compare,
            "/search": self._search,
            "/run/{run}": self._run,
            "/run/{run}/tables": self._tables,
            "/run/{run}/task/{task}": self._task,
            "/run/{run}/attempt/{task}/{number:int}": self._attempt,
        }

    def page(self, address: str, quoted: int = LOST_SHOWN) -> tuple[str, str]:
        """Return where *address* leads and the page there, as text. An attempt's quotes *quoted* lost tests."""
        path, _, query = address.partition("?")
        scope = {"type": "http", "method": "GET", "path": unquote(path), "headers": [], "quoted": quoted}
        for pattern, make in self._pages().items():
            match, found = Route(pattern, make).matches(scope)
            if match is Match.FULL:
                answer = make(Request({**scope, **found, "query_string": query.encode()}))
                if "location" in answer.headers:
                    return self.page(answer.headers["location"], quoted)
                return address, bytes(answer.body).decode()
        raise ValueError(f"no page is at {address}")

    def _page(self, make: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
        """Make a page in a thread, for it reads files, after a look at whether some run changed."""

        def made(request: Request) -> Response:
            self.index.refresh()
            return make(request)

        async def answer(request: Request) -> Response:
            return await asyncio.to_thread(made, request)

        return answer

    def _html(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = self._templates.get_template(template).render(**values)
        return HTMLResponse(text.encode(errors="replace"), status_code=status)

    def missing(self, what: str) -> Response:
        return self._html("missing.html", 404, what=what)

    def _runs(self, request: Request) -> Response:
        wanted, order = (request.query_params.get(name, "") for name in ("q", "sort"))
        every = self.index.runs()
        runs = [run for run in every if not wanted or wanted.lower() in _described(run)]
        if order in _ORDERS:  # the newest first among equals, as the index has them
            runs.sort(key=_ORDERS[order])
        first = whole_number(request.query_params.get("first"))
        return self._html(
            "runs.html",
            runs=runs[first : first + RUNS_SHOWN],
            total=len(runs),
            every=len(every),
            first=first,
            pages=evidence.pages(len(runs), first, RUNS_SHOWN),
            wanted=wanted,
            order=order,
            orders=_ORDERS,
            folder=str(self.settings.output.absolute()),
        )

    def _run(self, request: Request) -> Response:
        found = self.index.run(request.path_params["run"])
        if found is None or found.report is None:
            return self.missing(found.error if found and found.error else "There is no such run.")
        wanted, stage = (request.query_params.get(name, "") for name in ("q", "stage"))
        first = whole_number(request.query_params.get("first"))
        total = self.index.task_count(found.name, wanted, stage)
        tasks = self.index.tasks(found.name, wanted, stage, first, TASKS_SHOWN)
        return self._html(
            "run.html",
            run=found,
            report=found.report,
            fleet=fleet_of(self.settings.output, found),
            under_way=under_way(self.settings.output / found.name, found.report) if found.working else None,
            figures=figures_view(found.report),
            tasks=tasks,
            total=total,
            wanted=wanted,
            stage=stage,
            pages=evidence.pages(total, first, TASKS_SHOWN),
            first=first,
        )

    def _tables(self, request: Request) -> Response:
        """Show the plots and tables of the report, with the suite's own; its attempts have pages."""
        found = self.index.run(request.path_params["run"])
        if found is None or found.report is None:
            return self.missing("There is no such run.")
        made = read_report([self.settings.output / found.name], self.settings)
        views = [view for view in (*list(views_of(made))[1:], *paper_views(made)) if view.columns]
        return self._html("tables.html", run=found.name, plots=list(plots_of(made)), views=views)

    def _task(self, request: Request) -> Response:
        run, task = request.path_params["run"], request.path_params["task"]
        rows = self.index.attempts(run, task)
        if not rows:
            return self.missing("There is no such task in this run.")
        if len(rows) == 1:
            return RedirectResponse(f"/run/{quote(run)}/attempt/{quote(task)}/{rows[0].index}", status_code=303)
        found = self.index.run(run)
        return self._html(
            "task.html",
            run=run,
            report=found and found.report,
            task=task,
            rows=rows,
            columns=shown("page"),
            others=self.index.elsewhere(run, task),
        )

    def _attempt(self, request: Request) -> Response:
        run, task, number = (request.path_params[name] for name in ("run", "task", "number"))
        rows = self.index.attempts(run, task)
        row = next((one for one in rows if one.index == number), None)
        if row is None:
            return self.missing("There is no such attempt.")
        folder = RunFolder(self.settings.output / run)
        attempt = folder.attempt(AttemptKey(task=task, index=number))
        tab = request.query_params.get("tab", "why")
        parts: dict[str, Callable[[AttemptFolder, Request], dict[str, Any]]] = {
            "instruction": self._instruction,
            "trajectory": self._trajectory,
            "files": self._files,
            "tests": self._tests,
            "logs": logs_of,
        }
        values = parts.get(tab, self._why)(attempt, request)
        before, after = self.index.neighbours(run, task)
        others = self.index.elsewhere(run, task) if tab not in parts else []
        return self._html(
            "attempt.html",
            run=run,
            task=task,
            number=number,
            attempts=len(rows),
            row=row,
            tab=tab if tab in parts else "why",
            before=before,
            after=after,
            here=request.url.path,
            others=others,
            better=better_than(run, row, rows, others),
            live=(live := row.standing in ("pending", "made") and is_held(folder.path)),
            saying=evidence.saying(attempt) if live else "",
            **values,
        )

    def _why(self, attempt: AttemptFolder, request: Request) -> dict[str, Any]:
        """Return what was lost, and what judges say; a damaged file of judgements says so itself."""
        run, task, number = (request.path_params[name] for name in ("run", "task", "number"))
        key, folder = AttemptKey(task=task, index=number), self.settings.output / run
        try:
            said = {"opinions": evidence.opinions(folder, key), "unjudged": ""}
        except UsageError as error:
            said = {"opinions": [], "unjudged": str(error)}
        return {**lost_of(attempt, request, for_others=self.still), **said}

    def _tests(self, attempt: AttemptFolder, request: Request) -> dict[str, Any]:
        """Return tests as the address asks for them, with their text where it asks for that, too."""
        if "text" not in request.query_params or self.still:
            return tests_of(attempt, request, {}, for_others=self.still)
        run, task = request.path_params["run"], request.path_params["task"]
        files = asyncio.run(hidden_files(self.settings.output / run, task, self.settings))
        return {**tests_of(attempt, request, files, for_others=False), "textless": not files}

    def _instruction(self, attempt: AttemptFolder, request: Request) -> dict[str, Any]:
        """Return what was asked, as this machine's data of the suite has it."""
        run, task = request.path_params["run"], request.path_params["task"]
        try:
            asked = instruction_of(RunFolder(self.settings.output / run), task, self.settings)
        except GroundupError as error:
            return {"instruction": None, "lacking": str(error)}
        return {"instruction": asked and evidence.plain(asked), "lacking": ""}

    def _trajectory(self, attempt: AttemptFolder, request: Request) -> dict[str, Any]:
        """Return some steps, one turn, or the turns beside those of another run."""
        query = request.query_params
        turns, beside, turn = evidence.turns(attempt), query.get("beside", ""), query.get("turn")
        also = {"turns": evidence.listed(turns, whole_number(turn)), "turn": None, "beside": "", "kind": ""}
        if beside and self.index.run(beside) is not None:
            other = self._counterpart(beside, request)
            first = max(whole_number(query.get("first")), 1)
            pairs = evidence.beside(attempt, other, first)
            return {**also, "beside": beside, "pairs": pairs, "next": first + len(pairs)}
        if turn is not None and (page := evidence.turn_page(attempt, whole_number(turn))):
            return {**also, "turn": page}
        kind = query.get("kind", "")
        steps = evidence.steps(attempt, whole_number(query.get("first")), kind)
        return {
            **also,
            "missing": turn,
            "page": steps,
            "kind": kind,
            "pages": evidence.pages(steps.total, steps.first, evidence.STEPS_SHOWN),
            "rivals": self._rivals(request.path_params["run"], request.path_params["task"]),
        }

    def _rivals(self, run: str, task: str) -> list[str]:
        """Return runs whose attempt at *task* has a trajectory of its own, the newest first."""
        others = [one.run for one in self.index.elsewhere(run, task) if not one.same]
        first = AttemptKey(task=task)
        return [
            one
            for one in others[:20]
            if RunFolder(self.settings.output / one).attempt(first).trajectory_file.is_file()
        ][:5]

    def _counterpart(self, run: str, request: Request) -> AttemptFolder:
        """Return the attempt of a run that the address names, else that of the same number, else the first."""
        number = request.query_params.get("attempt")
        index = request.path_params["number"] if number is None else whole_number(number)
        key = AttemptKey(task=request.path_params["task"], index=index)
        there = RunFolder(self.settings.output / run)
        found = there.attempt(key)
        return found if found.path.is_dir() else there.attempt(key.but(index=0))

    def _files(self, attempt: AttemptFolder, request: Request) -> dict[str, Any]:
        """Return the submission's files and one of them, as a turn left them, or against those of another run."""
        turn = request.query_params.get("turn")
        if turn is not None:
            return self._files_after(attempt, whole_number(turn), request.query_params.get("path", ""))
        names, more = evidence.files(attempt)
        against, path = (request.query_params.get(name, "") for name in ("against", "path"))
        if against and self.index.run(against) is not None:
            changes, more = evidence.changes(self._counterpart(against, request), attempt)
            number = request.query_params.get("attempt")
            return {"against": against, "against_number": number, "changes": changes, "more": more}
        if not path and names:
            path = next((one.path for one in names if one.path.lower().startswith("readme")), names[0].path)
        piece = evidence.file_piece(attempt, path) if path else None
        code = evidence.highlighted(path, piece.text) if piece and not piece.binary else None
        shown = Markup(code) if code else None  # noqa: S704 - Pygments escapes what it colours
        return {
            "tree": evidence.tree(names),
            "more": more,
            "path": path,
            "piece": piece,
            "code": shown,
            "turn": None,
            "turns": evidence.turns(attempt) and evidence.listed(evidence.turns(attempt), 0),
        }

    def _files_after(self, attempt: AttemptFolder, turn: int, path: str) -> dict[str, Any]:
        texts = evidence.texts_after(attempt, turn)
        names = [
            evidence.FileName(path=name, bytes=len((text or "").encode())) for name, text in (texts or {}).items()
        ]
        path = path or next((one.path for one in names), "")
        text = (texts or {}).get(path)
        shown = None if text is None else evidence.plain(text)
        code = None if shown is None else evidence.highlighted(path, shown)
        size = len((text or "").encode())
        return {
            "tree": evidence.tree(names),
            "more": False,
            "path": path,
            "piece": None
            if path not in (texts or {})
            else evidence.Piece(text=shown or "", start=0, end=size, total=size, binary=shown is None),
            "code": Markup(code) if code else None,  # noqa: S704 - Pygments escapes what it colours
            "turn": turn,
            "turns": evidence.listed(evidence.turns(attempt), turn),
        }

    def _search(self, request: Request) -> Response:
        """Look for words in runs, tasks, reasons, tests and trajectories; a part of them where there are many."""
        wanted, run = (request.query_params.get(name, "").strip() for name in ("q", "run"))
        first = whole_number(request.query_params.get("first"))
        runs = [one for one in self.index.runs() if wanted and wanted.lower() in _described(one)]
        places, whole = self.index.search(wanted, run, HITS, _SEARCH_S) if wanted else ([], True)
        found = search_files(self.index, wanted, run, first) if wanted else None
        return self._html(
            "search.html",
            wanted=wanted,
            run=run,
            runs=runs[:HITS],
            places=places,
            whole=whole,
            found=found,
            first=first,
        )

    def _compare(self, request: Request) -> Response:
        values = compared(self.index, self.settings, request.query_params)
        if values is None:
            asked = set(request.query_params.getlist("run"))
            unread = [f"{one.name}: {one.error}" for one in self.index.runs() if one.error and one.name in asked]
            return self.missing(" ".join([*unread, "Choose two runs or more on the first page."]))
        return self._html("compare.html", **values)

    async def _events(self, request: Request) -> Response:
        """Say whenever a run's verdicts changed, as server-sent events, until it is at rest."""
        name, watched = request.path_params["run"], self._watched(request)

        async def events() -> AsyncIterator[str]:
            last = None
            while not await request.is_disconnected():
                await asyncio.to_thread(self.index.refresh)
                found = await asyncio.to_thread(self.index.run, name)
                if found is None or found.report is None:
                    return
                now = found.report.counts.model_dump_json() if watched is None else _size(watched)
                nodes = fleet_of(self.settings.output, found)
                key = (now, nodes and tuple(one.name for one in nodes.nodes))
                yield f"event: {'changed' if last not in (None, key) else 'same'}\ndata: {now}\n\n"
                if not found.working:
                    yield "event: ended\ndata: {}\n\n"
                    return
                last = key
                await asyncio.sleep(_REFRESH_S)

        return StreamingResponse(events(), media_type="text/event-stream")

    def _watched(self, request: Request) -> AttemptFolder | None:
        """Return the attempt that a page follows; None where it follows the run's counts."""
        run, task = request.path_params["run"], request.query_params.get("task", "")
        number = whole_number(request.query_params.get("number"))
        if not any(row.index == number for row in self.index.attempts(run, task)):
            return None
        return RunFolder(self.settings.output / run).attempt(AttemptKey(task=task, index=number))


def _size(attempt: AttemptFolder) -> str:
    """Return how long an attempt's trajectory is, and when its model said something last, as JSON."""
    sizes = {}
    for name, file in (("bytes", attempt.trajectory_file), ("said", attempt.saying_file)):
        try:
            found = file.stat()
            sizes[name] = found.st_size if name == "bytes" else found.st_mtime_ns
        except OSError:
            sizes[name] = 0
    return json.dumps(sizes)


def _score_of(run: RunSummary) -> float:
    value = run.report.headline.score.value if run.report else None
    return -1.0 if value is None else value


def _cost_of(run: RunSummary) -> float:
    cost = run.report.effort.cost_usd if run.report and run.report.effort else None
    return -1.0 if cost is None else cost


_ORDERS: Mapping[str, Callable[[RunSummary], Any]] = {
    "highest score": lambda run: -_score_of(run),
    "lowest score": _score_of,
    "highest cost": lambda run: -_cost_of(run),
    "name": lambda run: run.name,
    "suite": lambda run: (run.report.suite if run.report else "", run.name),
}
"""How the first page can be sorted, besides the newest first."""
_SEARCH_S = 0.2
"""For tasks and reasons; tests and trajectories have a time of their own."""


def _described(run: RunSummary) -> str:
    """Return what a run is called and made of, for a search."""
    report = run.report
    made = (report.suite, report.subject.title) if report else ()
    return "\n".join((run.name, *made)).lower()


async def _no_icon(_: Request) -> Response:
    """Answer browsers that ask for a picture of the site: there is none, and that is no error."""
    return Response(status_code=204)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC_NAMES:
        return Response(status_code=404)
    return Response(static_file(name), media_type=STATIC_NAMES[name])


STATIC_NAMES: Mapping[str, str] = {"viewer.css": "text/css", "viewer.js": "text/javascript"}
"""Files beside the pages, and their kinds."""


def static_file(name: str) -> str:
    content = (_STATIC / name).read_text(encoding="utf-8")
    return style() + content + evidence.highlight_styles() if name == "viewer.css" else content
