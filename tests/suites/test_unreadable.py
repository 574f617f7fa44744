"""Submissions that no reader reads: whatever lies in them is to blame, and no error of ours ends a grading."""

import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError, reading_submission
from groundup.environments.requests import MavenRequest
from groundup.grading.java.installing import project_files
from groundup.grading.java.testing import shown_classes
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest
from groundup.grading.library.staging import stage
from groundup.grading.services.install import find_java_start, find_start, read_declared
from groundup.suites.repogenesis.legacy_rules import legacy_coverage
from groundup.suites.repogenesis.official_rules import official_coverage
from groundup.suites.repogenesis.tasks import ServiceProblem
from tests.grading.library.laboratory import NO_ENVIRONMENT, write_tree
from tests.suites.repogenesis.test_in_process import in_process

_DEEP = 3_000
_CONTENTS: Mapping[str, bytes] = {
    "a null byte": b"-r foo\0bar\nx\0 = 1\n",
    "a name that no disk takes": b"-r " + b"a" * 5_000 + b"\n",
    "files that are folders": b"-r .\n-r requirements.txt/x\n",
    "a deep marker": b"flask; " + b"(" * _DEEP + b'python_version > "3"' + b")" * _DEEP,
    "deep brackets": b"x = " + b"[" * _DEEP + b"]" * _DEEP,
    "a long sum": b"x = " + b"1+" * _DEEP + b"1\n",
    "a huge number": b"flask==" + b"9" * 10_000,
    "no text": b"\xff\xfe\xff" * 99,
    "half of UTF-16": b"\xff\xfea\0b",
    "half a surrogate pair": b"\xed\xa0\x80" * 10,
    "entities": b'<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><project>&b;</project>',
    "deep elements": b"<a>" * _DEEP,
    "a deep document": b"\n".join(b" " * depth + b"a:" for depth in range(300)),
    "a deep route": b"from flask import Flask\napp = Flask('x')\n@app.route("
    + b"(" * _DEEP
    + b"'/a'"
    + b")" * _DEEP,
    "a deep class": b"class A {" * _DEEP,
}
_PLACES = (
    *("requirements.txt", "app.py", "start.sh", "pom.xml", ".mvn/maven.config", "README.md", "application.yml"),
    *("src/main/java/A.java", "target/classes/A.class"),
)
_NAMES = (b"x\xff\xfe.py", b"n\nl.java", b"\xed\xa0\x80.py", b"start.sh\xff", b"\x1b[31m.py", b"a" * 250 + b".py")


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> ServiceProblem:
    """Return a task whose hidden tests lie in `tests`."""
    return in_process(tmp_path_factory.mktemp("data"))


def _readers(tree: Path, room: Path, problem: ServiceProblem) -> Mapping[str, Callable[[], object]]:
    """Return what reads a submission on this machine, outside of any sandbox."""
    hidden = HiddenTests(packages=("shop",), arguments=("tests",), protected=("tests",))
    library = LibraryUnderTest(tree, problem.hidden_tests().parent, hidden, NO_ENVIRONMENT)
    return {
        "start": lambda: find_start(tree, 80),
        "Java start": lambda: find_java_start(tree),
        "requirements": lambda: read_declared(tree),
        "Maven's files": lambda: digest_of(MavenRequest(files=project_files(tree), java=17)),
        "classes": lambda: shown_classes(tree / "target/classes", [], room / "classes"),
        "older coverage": lambda: legacy_coverage("GET /a", tree),
        "published coverage": lambda: official_coverage("GET /a", tree),
        "composition": lambda: stage(library, room / "staged"),
    }


def _faults(tree: Path, room: Path, problem: ServiceProblem) -> dict[str, BaseException]:
    """Return which readers fail otherwise than by blaming the submission."""
    found: dict[str, BaseException] = {}
    room.mkdir()
    for name, read in _readers(tree, room, problem).items():
        try:
            read()
        except SubmissionError:
            continue
        except Exception as error:  # noqa: BLE001 - what this test looks for
            found[name] = error
    return found


@pytest.mark.parametrize("content", _CONTENTS)
def test_no_content_is_a_fault_of_the_grader(tmp_path: Path, problem: ServiceProblem, content: str) -> None:
    """The same bytes in every place that something reads."""
    tree = tmp_path / "tree"
    for place in _PLACES:
        path = tree / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_CONTENTS[content])

    assert _faults(tree, tmp_path / "room", problem) == {}


def test_no_name_is_a_fault_of_the_grader(tmp_path: Path, problem: ServiceProblem) -> None:
    """Names need not be UTF-8, in folders that Maven, Python and the composition look into."""
    tree = tmp_path / "tree"
    for folder in (".", ".mvn", "shop", "tests", "src/main/java", "target/classes"):
        place = tree / folder
        place.mkdir(parents=True, exist_ok=True)
        for name in _NAMES:
            (place / os.fsdecode(name)).write_bytes(b"class A {}")

    assert _faults(tree, tmp_path / "room", problem) == {}


def test_links_folders_and_loops_are_no_fault_of_the_grader(tmp_path: Path, problem: ServiceProblem) -> None:
    """What should be a file may be anything."""
    tree = write_tree(tmp_path / "tree", {"requirements.txt": "-r loop\n-r dir\n", "dir/a": "", "pom.xml/a": ""})
    for name, target in {"loop": "loop", "start.sh": "/etc/passwd", "target": ".", ".mvn": "loop"}.items():
        (tree / name).symlink_to(target)
    os.mkfifo(tree / "app.py")

    assert _faults(tree, tmp_path / "room", problem) == {}


def test_the_disk_is_not_blamed_on_the_submission() -> None:
    """Only errors that names cause are; a disk without room or with faults is the machine's."""
    with pytest.raises(OSError, match="no room"), reading_submission("it"):
        raise OSError(errno.ENOSPC, "no room")
    with pytest.raises(SubmissionError, match="long name"), reading_submission("it"):
        raise OSError(errno.ENAMETOOLONG, "long name")


def test_what_cannot_be_read_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    """A verdict is read by others."""
    with pytest.raises(SubmissionError) as caught, reading_submission("requirements.txt"):
        (tmp_path / ("a" * 300)).read_bytes()
    assert str(caught.value) == "requirements.txt cannot be read: OSError: File name too long; mend it"
