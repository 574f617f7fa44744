"""Which line of a service lost a test, by a second run: which tests run, and what the service carries then.

It comes when the run that counts is over, and can change nothing of that.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from groundup.environments.requests import PythonEnvironment
from groundup.grading.guesses import LOST_BY, RunnerListener, SecondTests
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.sandbox.protocol import WORKSPACE, Mount
from groundup_origins.inside import source_of
from groundup_origins.inside.origins import spread
from groundup_origins.inside.watched import FIRST_PORT, PORTS

_QUICK_START_S = 4.0
"""A service that takes longer to answer is not started a third time, for a guess of its line."""
_LOST = 8
_SHORT_S = 0.5
"""A passing test that takes longer is not run again."""
_LOST_S = 1.5
"""Nor a lost one."""
_TESTS_S = 3.0
"""What all that run again took together: each tells more of the lines that only lost ones run."""
_WATCHED = "/opt/groundup-watched"
"""Where a service finds what it carries."""
_SOURCES = "/opt/groundup-sources"
_OF_SERVICES = ("afar.py", "blame.py", "statements.py")
_GUESS_S = 5.0
_AGAIN_S = 30.0
"""By the clock on the wall, with the tests that are run before."""


def second_tests(
    results: Mapping[NumberedTest, Result],
    environment: PythonEnvironment,
    tree: Path,
    started_s: float,
    folder: Path,
    listener: RunnerListener,
) -> SecondTests | None:
    """Return what runs once more; *listener*: as in a library's run. See `Guesser`."""
    tests = chosen_again(results)
    if not tests or started_s > _QUICK_START_S:
        return None
    service = {
        "ports": [*range(FIRST_PORT, FIRST_PORT + PORTS)],
        "root": f"{WORKSPACE}/",
        "here": f"{_SOURCES}/",
        "seconds": _GUESS_S,
    }
    return SecondTests(
        tests=tests,
        environment=watched(environment, folder),
        listener=listener._replace(
            files={**listener.files, **{name: source_of(name) for name in _OF_SERVICES}},
            given={**listener.given, "service": service},
        ),
        mounts=(Mount(source=tree, target=_SOURCES),),
        limit_s=_AGAIN_S,
    )


def chosen_again(results: Mapping[NumberedTest, Result]) -> Sequence[NumberedTest]:
    """Return lost tests that are run again, and passing ones beside them, in the order in which they ran.

    The passing ones of a lost one's class come first, then those of its file.
    """
    short = {test: one for test, one in results.items() if one.duration_s <= _LOST_S}
    lost = spread([test for test, one in short.items() if one.outcome in LOST_BY], _LOST)
    passed = [
        test for test, one in short.items() if one.outcome == "passed" and one.duration_s <= _SHORT_S and lost
    ]
    near = {part for test in lost for part in _around(test)}
    wanted, spent_s = {*lost}, sum(short[test].duration_s for test in lost)
    for test in sorted(passed, key=lambda test: -len(near & {*_around(test)})):
        spent_s += short[test].duration_s
        if spent_s <= _TESTS_S:
            wanted.add(test)
    return [test for test in results if test in wanted]


def _around(test: NumberedTest) -> tuple[str, str]:
    """Return the file of a test, and its class with the file."""
    return test.id.partition("::")[0], test.id.rpartition("::")[0]


def watched(environment: PythonEnvironment, folder: Path) -> PythonEnvironment:
    """Return *environment* with what each Python that starts in it carries along; *folder* is filled."""
    folder.mkdir()
    for name, program in (("sitecustomize.py", "watched.py"), ("spectrum.py", ""), ("live.py", "")):
        (folder / name).write_bytes(source_of(program or name))
    path = ":".join(filter(None, [_WATCHED, environment.environment.get("PYTHONPATH")]))
    return environment.but(
        mounts=(*environment.mounts, Mount(source=folder, target=_WATCHED)),
        environment={**environment.environment, "PYTHONPATH": path},
    )
