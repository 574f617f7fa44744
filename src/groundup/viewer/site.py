"""The pages over runs as files: a static site with lasting addresses, opened from a disk or served by anything.

Pages are those of the viewer, without what only a server can do: filters, and runs that were not asked for.
Without trajectories a run has at most `RUN_BYTES`: of lost tests fewer are quoted, and lists of tests are left
out, the largest first, until it does.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.settings import Settings
from groundup.store.ownership import refuse_full, was_made, write_made
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import disk_errors
from groundup.viewer.app import STATIC_NAMES, Viewer, static_file

RUN_BYTES = 3_000_000
_BESIDE = 50_000
"""Of these for the first page, styles and scripts."""
_QUOTED = (10, 3, 0)
"""How many lost tests a page quotes; fewer where the pages of a run become too large."""
_LINK = re.compile(r'(href|src)="((?:/|\?)[^"]*)"')
_FORMS = re.compile(r"</?form[^>]*>|<button[^>]*>.*?</button>|<input[^>]*>|<label>.*?</label>", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_POLICY = (
    "default-src 'none'; style-src 'self' file: 'unsafe-inline'; script-src 'self' file:; img-src data:; "
    "form-action 'none'; base-uri 'none'"
)


class Site(Record):
    """What was written."""

    index: Path
    pages: int
    bytes: int
    left_out: int
    """Lists of tests for which a run has no room."""
    unfit: tuple[str, ...] = ()
    """Of runs whose records do not fit, what first does not; why others cannot be read, which have no pages."""


def site_of(runs: Sequence[Path], folder: Path, settings: Settings, *, trajectories: bool = False) -> Site:
    """Write the pages over the folders of *runs* below *folder*, as `write_site` does."""
    with scratch_folder("site") as scratch:
        viewer = Viewer(settings.but(output=chosen(scratch, runs)), still=True)
        with closing(viewer.index):
            viewer.index.refresh()
            return write_site(viewer, folder, trajectories=trajectories)


def write_site(viewer: Viewer, folder: Path, *, trajectories: bool = False) -> Site:
    """Write the pages over all runs of *viewer* below *folder*, which is new, empty or an earlier site.

    A run that cannot be read stands in the list with the reason. Raises `UsageError` for a folder that holds
    anything else, and where no run can be read.
    """
    index = folder / "index.html"
    if not folder.is_dir():
        refuse_full(folder)
    elif any(folder.iterdir()) and not was_made(index):
        raise UsageError(f"{folder} holds files that are of no site of groundup; name a new folder with --bundle")
    known = viewer.index.runs()
    if known and all(run.error is not None for run in known):
        raise UsageError(str(known[0].error))
    pages: dict[str, str] = {}
    leading = _render(viewer, pages, trajectories=trajectories)
    left_out = [] if trajectories else _too_much(pages)
    for address in left_out:
        del pages[address]
    names = {address: _file_name(address) for address in pages}
    names |= {address: names[there] for address, there in leading.items() if there in names}
    size = 0
    with disk_errors(folder):
        for name in STATIC_NAMES:
            size += _write(folder / "static" / name, static_file(name))
        for address, text in pages.items():
            size += _write(folder / names[address], _still(text, address, names))
    unfit = [f"{run.name}: {run.report.unfit}" for run in known if run.report and run.report.unfit]
    lacking = [f"{run.name} has no pages: {run.error}" for run in known if run.error is not None]
    return Site(index=index, pages=len(pages), bytes=size, left_out=len(left_out), unfit=(*lacking, *unfit))


def _write(path: Path, text: str) -> int:
    content = text.encode(errors="replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_made(path, content)
    return len(content)


def _render(viewer: Viewer, pages: dict[str, str], *, trajectories: bool) -> dict[str, str]:
    """Add to *pages* all that the first one leads to; return where addresses lead that are another page's."""
    leading: dict[str, str] = {}
    names = [run.name for run in viewer.index.runs() if run.report]
    room = RUN_BYTES / 2 / max(1, sum(viewer.index.task_count(name) for name in names) / len(names))
    waiting, known = deque(["/"]), {"/"}
    while waiting:
        address = waiting.popleft()
        there, text = viewer.page(address)
        if (there := _whole(there, address)) != address:
            leading[address] = there
            if there in known:
                continue
            known.add(there)
            address = there
        for quoted in () if trajectories else _QUOTED[1:]:
            if _run_of(address) is None or "?" in address or len(text) < room:
                break
            _, text = viewer.page(address, quoted)
        pages[address] = text
        for found in _links(text, address):
            if found not in known and _is_wanted(found, address, trajectories=trajectories):
                known.add(found)
                waiting.append(found)
    return leading


def _links(text: str, address: str) -> Iterator[str]:
    for _, link in _LINK.findall(text):
        yield _whole(unescape(link), address)


def _whole(link: str, address: str) -> str:
    """Return where a link leads, without its fragment, with its query in order and without what says nothing."""
    link = link.partition("#")[0]
    path, _, query = (address.partition("?")[0] + link if link.startswith("?") else link).partition("?")
    path = "/".join(quote(unquote(part), safe="") for part in path.split("/"))
    pairs = [(name, value) for name, value in parse_qsl(query) if (name, value) != ("first", "0")]
    pairs.sort(key=lambda pair: pair[0] != "tab")  # runs keep their order: the first is the base
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _is_wanted(address: str, source: str, *, trajectories: bool) -> bool:
    if address.startswith(("/static/", "/search")):
        return False
    query = dict(parse_qsl(address.partition("?")[2]))
    match query.get("tab"):
        case None:
            return True
        case "tests":
            return True
        case "trajectory":
            return trajectories and not query.keys() & {"kind", "beside"}
        case "files":  # a file after the turn that changed it, not each file after each turn
            return trajectories and "turn" in query and "tab=files" not in source
        case _:
            return False


def _too_much(pages: Mapping[str, str]) -> list[str]:
    """Return the lists of tests to leave out, the largest first, so that each run has room."""
    left_out = []
    for run in {_run_of(address) for address in pages} - {None}:
        own = [address for address in pages if _run_of(address) == run]
        size = sum(len(pages[address].encode(errors="replace")) for address in own)
        lists = sorted((one for one in own if "tab=tests" in one), key=lambda one: len(pages[one]), reverse=True)
        for address in lists:
            if size <= RUN_BYTES - _BESIDE:
                break
            size -= len(pages[address].encode(errors="replace"))
            left_out.append(address)
    return left_out


def _run_of(address: str) -> str | None:
    parts = address.partition("?")[0].split("/")
    return parts[2] if len(parts) > 2 and parts[1] == "run" else None


def _file_name(address: str) -> str:
    """Return the file of a page, the same for ever: `/run/R/attempt/T/0?tab=tests` is `R/T.0/tests.html`."""
    path, _, query = address.partition("?")
    parts = [_plain(unquote(part)) for part in path.split("/") if part]
    if parts[:1] == ["run"]:
        parts = parts[1:]
    if parts[1:2] in (["attempt"], ["task"]):
        parts = [parts[0], ".".join([*parts[2:], *(["all"] if parts[1] == "task" else [])])]
    pairs = parse_qsl(query)
    said = "-".join(value if name == "tab" else f"{name}-{value}" for name, value in pairs)
    return "/".join([*parts, f"{_plain(said) if said else 'index'}.html"])


def _plain(text: str) -> str:
    """Return *text* as a harmless part of a path; what had to be changed stays distinct by a digest."""
    if _PLAIN.fullmatch(text):
        return text
    return f"{re.sub(r'[^A-Za-z0-9._+-]', '-', text)[:60].lstrip('.-')}-{sha256(text.encode()).hexdigest()[:12]}"


def _still(text: str, address: str, names: Mapping[str, str]) -> str:
    """Return a page whose links lead to files; one that leads nowhere is words."""
    up = "../" * names[address].count("/")

    def linked(found: re.Match[str]) -> str:
        link = unescape(found[2])
        if link.startswith("/static/"):
            return f'{found[1]}="{up}{link[1:]}"'
        name = names.get(_whole(link, address))
        fragment = link.partition("#")[2]
        if name is None:
            return ""
        return f'{found[1]}="{up}{quote(name)}{"#" + quote(fragment) if fragment else ""}"'

    text = _FORMS.sub("", _LINK.sub(linked, text))
    return text.replace(
        "<head>\n", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n', 1
    )


def chosen(folder: Path, runs: Sequence[Path]) -> Path:
    """Fill the empty *folder* with links to *runs*: a viewer over it knows no others. Raises `UsageError`."""
    for path in runs:
        place = folder / path.name
        if place.is_symlink():
            raise UsageError(f"two of these runs are called {path.name}; bundle one of them")
        place.symlink_to(path.resolve(), target_is_directory=True)
    return folder
