"""Could a lost test have passed on a machine that was less busy?

A test that fails for an absent name, or as its file is imported, fails on every machine. So does one that ended
sooner than any limit of time that tests set themselves: recipes call those with shorter ones `timed`. And so does
any test where neither the tests nor the submission ask a clock, wait, or start anything beside themselves, by
their source text: where in doubt, load could decide. Of the submission only what was in the sandbox can, and not
its setup.py, which no test imports; of the tests, files in which nothing was lost cannot, unless others name them.
A lock alone waits for nobody. Randomness is no matter of load.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from groundup.domain.verdicts import TestResult
from groundup.grading.last_words import pytest_words, speaks_of_code, speaks_of_time
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest
from groundup.grading.library.report import UNUSABLE, RunnerReport
from groundup.sandbox.protocol import CommandResult
from groundup.trees.walking import read_regular

_STANDARD = (
    "_thread|asyncio|asyncore|concurrent|faulthandler|ftplib|http\\.(?:client|server)|imaplib|mmap|multiprocessing|"
    "poplib|pty|queue|resource|sched|select|selectors|signal|smtplib|socket|socketserver|ssl|subprocess|telnetlib|"
    "threading|time|timeit|tracemalloc|urllib\\.request|urllib2|wsgiref|xmlrpc"
)
_OTHERS = (
    "aiohttp|anyio|billiard|celery|dask|eventlet|gevent|greenlet|httpx|hypothesis|joblib|loky|multiprocess|"
    "pandarallel|pexpect|playwright|psutil|pyppeteer|pytest_asyncio|pytest_timeout|ray|redis|requests|selenium|sh|"
    "tornado|trio|twisted|urllib3|uvicorn|uvloop|werkzeug\\.serving|zmq"
)
_OF_TIME = re.compile(
    r"^[ \t]*(?!from\s+threading\s+import\s+R?Lock[ \t]*(?:#.*)?$)"
    rf"(?:from|import)\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*(?:{_STANDARD}|{_OTHERS})\b"
    r"|^[ \t]*from\s+(?:http|urllib)\s+import\b.*\b(?:client|request|server)\b"
    r"|\.(?:now|utcnow|today|run_async|create_task)\(|\bmtime|\basync\s+def\b"
    r"|\bos\.(?:exec|fork|kill|popen|posix_spawn|spawn|system|times|wait)\w*\b"
    r"|pytest\.mark\.(?:timeout|asyncio)",
    re.MULTILINE,
)
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_FILES, _FILE_BYTES = 3000, 2 * 1024 * 1024
_NOT_COLLECTED = "not collected: "
_SOON_S = 0.05


def is_certain(lost: Iterable[TestResult], library: LibraryUnderTest, kept: Collection[str]) -> bool:
    """Whether no *lost* test of *library*, of which the paths *kept* ran, could pass on a less busy machine."""
    late = [test for test in lost if not _fails_soon(test)]
    # What has no result may have met its end in any file.
    is_told = all(test.outcome != "missing" for test in late)
    files = {test.id.partition("::")[0] for test in late} if is_told else None
    return not late or not may_be_late(library.hidden, library.original, library.submission, kept, files)


def gave_up_for_good(report: RunnerReport, result: CommandResult) -> bool:
    """Whether pytest refused to begin, for an error of a conftest's import that does not speak of time."""
    words = pytest_words(result.stdout + b"\n" + result.stderr)
    return report.exit_code == UNUSABLE and not report.results and words != "" and not speaks_of_time(words)


def _fails_soon(test: TestResult) -> bool:
    if speaks_of_code(test.message):
        return True
    if test.outcome == "missing":
        return test.message.startswith(_NOT_COLLECTED) and not speaks_of_time(test.message)
    return test.duration_s is not None and test.duration_s < _SOON_S and not speaks_of_time(test.message)


def may_be_late(
    hidden: HiddenTests,
    original: Path,
    submission: Path,
    kept: Collection[str] | None = None,
    lost: Collection[str] | None = None,
) -> bool:
    """Whether the tests or the submission ask a clock, wait, or start something beside themselves.

    *kept*: which paths of the submission were in the sandbox of the tests; None: all of it, and it was installed.
    *lost*: in which files of the original tests were lost; None: in any.
    """
    if hidden.extensions or hidden.programs:
        return True
    tests = {argument.partition("::")[0] for argument in hidden.arguments}
    own = _sources(submission)
    if kept is not None:
        imported = {submission / path for path in kept} - {submission / "setup.py"}
        own = (path for path in own if path in imported)
    places = {path for place in {*tests, *hidden.protected} for path in _sources(original / place)}
    try:
        for number, path in enumerate(own, len(places)):
            if number >= _FILES or _OF_TIME.search(_text(path)):
                return True
        texts = {path: _text(path) for path in places}
    except (OSError, ValueError):
        return True
    apart = set() if lost is None else _apart(texts, {original / one for one in lost})
    return any(_OF_TIME.search(text) for path, text in texts.items() if path not in apart)


def _text(path: Path) -> str:
    return read_regular(path, _FILE_BYTES).decode(errors="replace")


def _apart(texts: Mapping[Path, str], lost: Collection[Path]) -> set[Path]:
    """Return the test files without *lost* tests that no other file names; none where one of *lost* is unknown."""
    apart = {path for path in texts if _TEST_FILE.fullmatch(path.name) and path not in lost}
    if not texts.keys() >= {*lost}:
        return set()
    waiting = [*texts.keys() - apart]
    while waiting:
        words = set(re.findall(r"\w+", texts[waiting.pop()]))
        named = {path for path in apart if path.stem in words}
        apart -= named
        waiting += named
    return apart


def _sources(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for folder, _, names in os.walk(place):
        yield from (Path(folder, name) for name in names if name.endswith((".py", ".pyi")))
