"""pipreqs, pigar and deptry as functions from a tree to names, without asking any registry.

pipreqs and pigar look every import up in an index. Here the index is a server on loopback that knows the names it
is given (all that any sampled package declares) and says no to others: what the real one would say, or better.
"""

import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.inference_truth import folded

TIMEOUT_S = 300
Tool = Callable[[Path], set[str]]


_FIELDS = (
    "author",
    "author_email",
    "bugtrack_url",
    "classifiers",
    "description",
    "docs_url",
    "download_url",
    "downloads",
    "home_page",
    "keywords",
    "license",
    "maintainer",
    "maintainer_email",
    "package_url",
    "platform",
    "release_url",
    "summary",
)


class _Index(BaseHTTPRequestHandler):
    """Answers `/pypi/<name>/json` and `/simple/<name>/`."""

    world: frozenset[str] = frozenset()

    def do_GET(self) -> None:
        """Answer with one made-up release, or not at all."""
        parts = self.path.strip("/").split("/")
        name = parts[1] if len(parts) > 1 else ""
        if folded(name) not in self.world:
            self.send_error(404)
            return
        if parts[0] == "pypi":
            kind = "application/json"
            info = {"name": name, "version": "1.0", **dict.fromkeys(_FIELDS, "")}
            body = json.dumps({"info": info, "releases": {"1.0": []}, "urls": []})
        else:
            kind = "text/html"
            file = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
            body = f'<!DOCTYPE html><html><body><a href="/files/{file}">{file}</a></body></html>'
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


def _serve(world: set[str]) -> str:
    handler = type("Index", (_Index,), {"world": frozenset(folded(name) for name in world)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def _run(command: list[str], cwd: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment["PYTHONPATH"] = ""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


def _requirements(text: str) -> set[str]:
    names = (
        re.match(r"[A-Za-z0-9][\w.-]*", line.strip()) for line in text.splitlines() if not line.startswith("#")
    )
    return {folded(match.group()) for match in names if match}


def pipreqs(bin_folder: Path, world: set[str]) -> Tool:
    """Return pipreqs as a function."""
    server = _serve(world)

    def names(tree: Path) -> set[str]:
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch) / "requirements.txt"
            _run(
                [
                    str(bin_folder / "pipreqs"),
                    "--pypi-server",
                    f"{server}/pypi/",
                    "--mode",
                    "no-pin",
                    "--force",
                    "--savepath",
                    str(target),
                    str(tree),
                ]
            )
            return _requirements(target.read_text(encoding="utf-8")) if target.is_file() else set()

    return names


def pigar(bin_folder: Path, world: set[str], answer: str = "no") -> Tool:
    """Return pigar as a function; *answer* is called when it asks which of several distributions to take."""
    server = _serve(world)

    def names(tree: Path) -> set[str]:
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch) / "requirements.txt"
            _run(
                [
                    str(bin_folder / "pigar"),
                    "generate",
                    "-f",
                    str(target),
                    "-c",
                    "-",
                    "-i",
                    f"{server}/simple/",
                    "--question-answer",
                    answer,
                    "--auto-select",
                    str(tree),
                ],
                cwd=Path(scratch),
            )
            return _requirements(target.read_text(encoding="utf-8")) if target.is_file() else set()

    return names


def deptry(bin_folder: Path, world: set[str]) -> Tool:
    """Return deptry as a function: the modules that it reports as imported but not declared."""
    del world

    def names(tree: Path) -> set[str]:
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch) / "issues.json"
            project = tree / "pyproject.toml"
            made = not project.is_file()
            if made:
                project.write_text("[project]\nname = 'sample'\nversion = '0'\n", encoding="utf-8")
            _run([str(bin_folder / "deptry"), ".", "-o", str(target)], cwd=tree)
            if made:
                project.unlink()
            issues = json.loads(target.read_text(encoding="utf-8")) if target.is_file() else []
            return {folded(issue["module"]) for issue in issues if issue["error"]["code"] in {"DEP001", "DEP003"}}

    return names


RIVALS: dict[str, Callable[[Path, set[str]], Tool]] = {
    "pipreqs": pipreqs,
    "pigar": pigar,
    "pigar yes": lambda bin_folder, world: pigar(bin_folder, world, "yes"),
    "deptry": deptry,
}
