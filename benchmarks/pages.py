"""Types every command line of README, the tutorial and the guides as it stands there into a shell.

python -m benchmarks.pages                  all of them
python -m benchmarks.pages README agents    these pages

Nothing stands in for benchmarks and sandboxes. A reader has what a page takes for granted, such as `predictions/`
and a run called `mine`: the script makes it of what `groundup demo` leaves. What cannot be tried here is planned
with `--dry-run` where the command has it, and its reason is said. Data is where the settings say.
`tests/docs/test_running.py` tries the same lines with toys in place of the benchmarks.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from benchmarks.small_model import READY as _READY
from tests.docs.pages import ROOT, blocks

PAGES = (
    "README",
    "index",
    "tutorial",
    "guide-evaluate",
    "guide-compare",
    "guide-offline",
    "repeat",
    "write",
    "agents",
    "own-agents",
    "models",
    "runs",
    "reports",
    "nl2repobench",
    "repogenesis",
    "dibench",
    "serving",
    "harnesses",
)
LONGEST_S = 900
_SERVES = ("groundup serve*", "groundup view", "groundup view .demo/runs", "groundup view model-a model-b")
ELSEWHERE = {
    "a paid model, or an endpoint at the address": (
        "*-m openai/*",
        "*-m anthropic/*",
        "*-m vllm/*",
        "*run --config *",
    ),
    "a node, or another machine": ("*--workers *", "groundup fleet *"),
    "hours: all tasks of a benchmark": (
        "groundup run nl2repobench -a oracle",
        "groundup run nl2repobench -a oracle --jobs 4 --fail-under 1",
        "groundup run nl2repobench -a oracle --grader official",
        "groundup warm nl2repobench",
        "groundup recipe check --all*",
        "groundup audit *",
        "groundup curate set *",
    ),
    "DI-Bench's data and a checkout of each repository": (
        "groundup * dibench*",
        "*--format patch*",
        "groundup ablate *",
        "groundup why latest TASK",
    ),
    "a run of RepoGenesis": ("*--format repogenesis*",),
    "files of other people": ("*eval_results/*", "*published/*", "*my_package*", "*my-agent.toml*", "* jobs/"),
}
"""What a line needs that no machine has of its own: patterns by reason."""
_NOT_HERE = ("`groundup data pull", "does not replace; pull it as", "say --yes, or look with --dry-run")
"""Words where data is absent, as without Git, or comes from one's own place, and where a person would be asked."""


class Tried(NamedTuple):
    """What became of a line."""

    page: str
    line: str
    how: str
    why: str
    seconds: float


def shown(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the files (their names and texts) and the lines (under no name) that *page* shows, in its order."""
    text = page.read_text(encoding="utf-8")
    for block in sorted(blocks(page), key=lambda one: text.find(one.text.splitlines()[0] if one.text else "")):
        if block.title:
            yield block.title, block.text
        for line in (
            re.sub(r"\\\n\s*", "", block.text).splitlines() if block.language in ("", "sh", "console") else ()
        ):
            if found := re.match(r"(?:\$ )?((?:groundup|cd|python -m benchmarks\.small_model) .*)", line):
                yield "", found[1].split("  #")[0].rstrip()


def typed(line: str, folder: Path, home: Path) -> tuple[int, str]:
    """Type *line* in *folder*; return the exit code and the last words. A server is stopped."""
    environment = {**os.environ, "HOME": str(home), "COLUMNS": "120"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    serves = any(fnmatchcase(line, one) for one in _SERVES)
    with tempfile.TemporaryFile("w+") as output:
        started = subprocess.Popen(
            ["/bin/bash", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            if serves:
                time.sleep(25)
                os.killpg(started.pid, signal.SIGINT)
            code = started.wait(120 if serves else LONGEST_S)
        except (subprocess.TimeoutExpired, ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
            code = started.wait()
        output.seek(0)
        printed = output.read()
    if serves and "http://" in printed and code in (0, 130):
        code = 0
    return code, " ".join(printed.split())[-300:]


def prepare(home: Path) -> None:
    """Make what readers of the pages have: repositories, predictions, runs, a script that plays a model."""
    code, words = typed("groundup demo", home, home)
    if code:
        sys.exit(f"the demo does not work here: {words}")
    if (
        "python = " in (home / ".demo" / "groundup.toml").read_text()
    ):  # a reader lets it stand in, too, as README says
        os.environ["GROUNDUP_PYTHON"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    tutorial = ROOT / "docs" / "tutorial.md"
    files = {block.title: block.text for block in blocks(tutorial) if block.title}
    for name in ("predictions", "out", "FOLDER"):
        shutil.copytree(home / ".demo" / "predictions", home / name)
    for name in ("my-sqlparse", "sqlparse"):
        shutil.copytree(home / ".demo" / "predictions" / "sqlparse", home / name)
    (home / "out.jsonl").write_text('{"instance_id": "sqlparse", "path": "predictions/sqlparse"}\n')
    for name in ("services", "generated"):
        (home / name / "Blog").mkdir(parents=True)
        (home / name / "Blog" / "start.sh").write_text("python app.py\n")
        (home / name / "Blog" / "app.py").write_text("print('no service')\n")
    repository = home / "path" / "to" / "repository"
    (repository / ".github" / "workflows").mkdir(parents=True)
    (repository / "pyproject.toml").write_text(
        '[project]\nname = "mine"\nversion = "1"\ndependencies = ["click"]\n'
    )
    (repository / "mine.py").write_text("import click\n")
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    for run in ("mine", "my-run", "before", "after", "model-a", "model-b", "model-c", "first-try"):
        typed(f"groundup evaluate nl2repobench -p predictions --tasks sqlparse --run-id {run}", home, home)
    (home / "agent.toml").write_text('[[turn]]\ncontent = "Done."\n[[turn.calls]]\ntool = "submit"\n')
    _own_agents(home)
    for run in ("trial", "all"):
        line = "groundup run nl2repobench -a loop -m scripted/agent.toml --price 2:8 --tasks six,sqlparse"
        typed(f"{line} --run-id {run}", home, home)


def _own_agents(home: Path) -> None:
    """Make what the page of own agents takes for granted: a program file, and an image that was unpacked."""
    (home / "image" / "usr" / "bin").mkdir(parents=True)
    for place in (home / "agent", home / "image" / "usr" / "bin" / "agent"):
        shutil.copy("/bin/true", place)
    for library in re.findall(
        r"/\S+", subprocess.run(["ldd", "/bin/true"], check=False, capture_output=True, text=True).stdout
    ):
        place = home / "image" / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)


def tries(page: Path, home: Path) -> Iterator[Tried]:
    """Yield what became of each line of *page*."""
    with ExitStack() as running:
        yield from _tries(page, home, running)


def _tries(page: Path, home: Path, running: ExitStack) -> Iterator[Tried]:
    folder = home
    before: dict[Path, str] = {}
    running.callback(lambda: [path.write_text(text) for path, text in before.items()])  # other pages name it, too
    for title, text in shown(page):
        if text.startswith("python -m benchmarks.small_model "):
            yield running.enter_context(_model_served(page.stem, text, home))
        elif title:
            place = folder / title
            if place.is_file():
                before[place] = place.read_text()
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        elif text.startswith("cd "):
            folder /= shlex.split(text)[1]
        else:
            yield _tried(page.stem, text, folder, home)


@contextmanager
def _model_served(page: str, line: str, home: Path) -> Iterator[Tried]:
    """Start the small model as the line says, but in a folder of this trial's; it serves the rest of the page."""
    begun = time.monotonic()
    words = [sys.executable, *shlex.split(line)[1:3], str(home / ".small-model")]
    with (home / "small-model.log").open("w+") as log:
        started = subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            is_up = False
            while started.poll() is None and not is_up and time.monotonic() - begun < LONGEST_S:
                time.sleep(0.5)
                is_up = _READY in Path(log.name).read_text()
            said = " ".join(Path(log.name).read_text().split())[-300:]
            how = "done" if is_up else "lacks" if started.poll() == 3 else "FAILED"
            yield Tried(page, line, how, "" if is_up else said, time.monotonic() - begun)
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGINT)
            started.wait()


def _tried(page: str, line: str, folder: Path, home: Path) -> Tried:
    why = next((why for why, known in ELSEWHERE.items() if any(fnmatchcase(line, one) for one in known)), "")
    if why and "--dry-run" not in line:
        if not line.startswith(("groundup run ", "groundup evaluate ", "groundup judge ", "groundup resume ")):
            return Tried(page, line, "not tried", why, 0)
        if "--json" not in line:
            line += " --dry-run"
    begun = time.monotonic()
    code, words = typed(line, folder, home)
    took = time.monotonic() - begun
    if code == 0:
        return Tried(page, line, "planned" if why else "done", why, took)
    if code == 3 or any(one in words for one in _NOT_HERE):
        return Tried(page, line, "lacks", words, took)
    return Tried(page, line, "not tried" if why else "FAILED", f"exit code {code}: {words}", took)


def main() -> int:
    """Try the pages; print a line for each command line that was not done, then the counts of each page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", default=PAGES, help="pages by name, without .md")
    wanted = parser.parse_args().pages
    with tempfile.TemporaryDirectory(prefix="groundup-pages-") as folder:
        home = Path(folder)
        prepare(home)
        found = []
        for name in wanted:
            page = ROOT / "README.md" if name == "README" else ROOT / "docs" / f"{name}.md"
            for one in tries(page, home):
                found.append(one)
                print(f"{one.page}: {one.line}\n  {one.how} in {one.seconds:.0f} s {one.why}", flush=True)
    for name in wanted:
        counted = Counter(one.how for one in found if one.page == name)
        print(f"{name}: " + (", ".join(f"{count} {how}" for how, count in counted.items()) or "no command lines"))
    return any(one.how == "FAILED" for one in found)


if __name__ == "__main__":
    sys.exit(main())
