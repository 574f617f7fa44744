"""`groundup demo`: a real library from the package index and a broken copy of it, judged by its hidden tests.

Everything lies in one folder; a second run finds environments and verdicts there and takes seconds. It removes
nothing: it makes runs and predictions of its own beside those that are there.
"""

import os
import shlex
import shutil
import sys
from contextlib import chdir
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples

if TYPE_CHECKING:
    from groundup.runs.api import NewRun

EXAMPLES: dict[str, Examples] = {
    "demo": (("What does grading look like?", "groundup demo"),),
}


TASK, PYTHON = "sqlparse", "3.10"
"""A task of NL2RepoBench, and the interpreter of its recipe."""
FILE = "sqlparse/__init__.py"
RIGHT = "return [str(stmt).strip() for stmt in stack.run(sql, encoding)]"
WRONG = "return [str(stmt) for stmt in stack.run(sql, encoding)][:1]"
"""A small change that breaks one function of the library."""


def demo(
    folder: Annotated[Path, typer.Option(help="Folder for everything that the demo writes.")] = Path(".demo"),
) -> int:
    """Grade a real library and a broken copy of it by the library's own tests, side by side."""
    import asyncio

    here = folder.absolute()
    python = asyncio.run(stand_in(here / "cache" / "interpreters"))
    prepare(here, python)
    if python is not None:
        _tell(f"Python {PYTHON}, which the task asks for, is not on this machine: {python} stands in for it.")
    with chdir(here):
        return _judge(here, free_ending(here))


async def stand_in(fetched: Path) -> str | None:
    """Return the interpreter that runs groundup where the task's own is not on this machine."""
    from groundup.environments.interpreters import present_interpreter

    if await present_interpreter(PYTHON, fetched):
        return None
    return f"3.{sys.version_info.minor}"


def prepare(here: Path, python: str | None) -> None:
    """Make the demo's folder, whose settings say that *python* stands in; or find that it is one.

    Raises `UsageError` for a folder of anything else.
    """
    from groundup.domain.errors import UsageError
    from groundup.settings import CONFIG_FILE
    from groundup.store.ownership import was_made, write_made
    from groundup.trees.writer import disk_errors

    config, text = here / CONFIG_FILE, f'[settings]\ncache_dir = "{here}/cache"\n'
    with disk_errors(here):
        if os.path.lexists(here) and not here.is_dir():
            raise UsageError(f"{here} is no folder; name a new one with --folder")
        here.mkdir(parents=True, exist_ok=True)
        if any(here.iterdir()) and not was_made(config) and not _is_older(config, text):
            raise UsageError(f"{here} holds files that are not of a demo; name a new folder with --folder")
    if not config.exists():  # what somebody changed in it stays
        write_made(config, (f'{text}python = "{python}"\n' if python else text).encode())


def _is_older(config: Path, text: str) -> bool:
    """Whether a demo wrote it that did not note so."""
    return config.is_file() and config.read_text(encoding="utf-8", errors="replace") == text


def free_ending(here: Path) -> str:
    """Return what to append to the demo's names so that nothing has them yet."""
    names = ("runs/reference", "runs/broken", "predictions")
    endings = chain([""], map("-{}".format, count(2)))
    return next(end for end in endings if not any((here / f"{name}{end}").exists() for name in names))


def _judge(here: Path, end: str) -> int:
    """Grade the reference and its broken copy; show both side by side. Their names have the ending *end*."""
    from groundup.api.reports import report
    from groundup.api.requests import evaluation, running
    from groundup.cli.console import print_report
    from groundup.reports.forms import Format

    suite, task = "nl2repobench", TASK
    reference, broken, predictions = f"reference{end}", f"broken{end}", f"predictions{end}"
    _tell(f"The library: {task}, graded by its own tests, which a submission does not see.")
    _tell(f"$ groundup run {suite} --agent oracle --tasks {task} --output runs --verbose --run-id {reference}")
    if code := _worked(running(suite, "oracle", tasks=task, output="runs", run_id=reference)):
        return code
    _tell(f"A broken copy of it, made by changing one line of {FILE}:")
    break_reference(here / "runs" / reference, here / predictions)
    _tell(
        f"$ groundup evaluate {suite} --predictions {predictions} --agent-name saboteur --tasks {task} "
        f"--output runs --verbose --run-id {broken}"
    )
    evaluated = evaluation(suite, predictions, agent_name="saboteur", tasks=task, output="runs", run_id=broken)
    if code := _worked(evaluated):
        return code
    _tell("Both verdicts side by side:")
    _tell(f"$ groundup report runs/{reference} runs/{broken}")
    print_report(report(f"runs/{reference}", f"runs/{broken}"), Format.TABLE)
    _tell("Why did the broken copy lose its points? Each failed test with its values, and all in a browser:")
    _tell(f"$ {_program()} why {Path('runs', broken).absolute()} {task}")
    if find_spec("jinja2") is None or find_spec("uvicorn") is None:
        _tell("$ pip install 'groundup[view]'")
    _tell(f"$ {_program()} view {Path('runs').absolute()}")
    return 0


def _program() -> str:
    """Return what a shell starts as groundup here: its name, or its path where it is not on PATH."""
    called = Path(sys.argv[0])
    return "groundup" if shutil.which("groundup") or called.name != "groundup" else str(called)


def _worked(request: "NewRun") -> int:
    """Work on a run and show every attempt; its report waits for the last one."""
    from groundup.api.runs import finished
    from groundup.cli.console import say, unfinished_words
    from groundup.cli.options import Talk
    from groundup.cli.progress import shown_progress

    with shown_progress(Talk(verbose=True)) as progress:
        ended = finished(request, progress)
    if ended.exit_code:
        again = f"cd {shlex.quote(str(Path.cwd()))} && {_program()} resume {ended.folder}"
        say(f"groundup: {unfinished_words(ended.pending, again)}")
    return ended.exit_code


def break_reference(run: Path, predictions: Path) -> None:
    """Write the submission of the reference's *run*, one line changed, to *predictions*; show the change."""
    import difflib

    from groundup.domain.errors import TaskError
    from groundup.domain.subjects import AttemptKey
    from groundup.store.folder import RunFolder
    from groundup.trees.writer import copy_tree

    reference = RunFolder(run).attempt(AttemptKey(task=TASK))
    broken = predictions / TASK
    copy_tree(reference.submission, broken)
    before = (broken / FILE).read_text(encoding="utf-8")
    after = before.replace(RIGHT, WRONG)
    if after == before:
        raise TaskError(f"{FILE} does not hold {RIGHT!r}: the demo has to follow the recipe")
    (broken / FILE).write_text(after, encoding="utf-8")
    change = difflib.unified_diff(before.splitlines(), after.splitlines(), "reference", "broken", n=1, lineterm="")
    _tell("\n".join(f"    {line}" for line in change))


def _tell(text: str) -> None:
    """Tell what goes on, in order with what the commands print."""
    sys.stdout.flush()
    sys.stderr.write(f"\n{text}\n")
    sys.stderr.flush()
