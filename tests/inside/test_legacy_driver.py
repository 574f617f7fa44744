"""What the older scripts do in their sandbox with a repository in Java, with commands of our own for Maven."""

import time
from pathlib import Path

import pytest

from groundup.inside.legacy_driver import (
    deploy,
    java_tests,
    lay_java_tests,
    on_terminal,
    raise_java,
    surefire,
    test_java,
)
from tests.grading.library.laboratory import write_tree
from tests.patience import patient

REPORT = '<testsuite name="{name}" tests="{tests}" failures="1" errors="0" skipped="1"><testcase/></testsuite>\n'
GOLDEN = {"java/NotesTest.java": "hidden", "java/tests/MoreTest.java": "hidden"}
test_java.__test__ = False  # type: ignore[attr-defined]  # not a test of ours


def files(tree: Path) -> dict[str, str]:
    """Return what lies below *tree*."""
    return {str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (
            {"src/main/A.java": "", "src/test/java/NotesTest.java": "own", "src/test/java/OwnTest.java": "own"},
            {
                "src/main/A.java": "",
                "src/test/java/OwnTest.java": "own",
                "src/test/java/NotesTest.java": "hidden",
                "src/test/java/tests/MoreTest.java": "hidden",
            },
        ),
        (
            {"App.java": ""},
            {"App.java": "", "src/java/NotesTest.java": "hidden", "src/java/tests/MoreTest.java": "hidden"},
        ),
        (
            {"tests/OwnTest.java": "own"},
            {
                "tests/OwnTest.java": "own",
                "src/java/NotesTest.java": "hidden",
                "src/java/tests/MoreTest.java": "hidden",
                "src/test/java/OwnTest.java": "own",
            },
        ),
    ],
)
def test_hidden_tests_are_laid_over_own_ones(
    tmp_path: Path, own: dict[str, str], expected: dict[str, str]
) -> None:
    """Own tests stay; without `src` the hidden ones land where Maven never looks, as in the scripts."""
    tree = write_tree(tmp_path / "tree", own)
    lay_java_tests(tree, write_tree(tmp_path / "golden", GOLDEN))
    assert files(tree) == expected


def test_a_file_in_the_place_of_tests_ends_nothing(tmp_path: Path) -> None:
    """What cannot be copied is left out."""
    tree = write_tree(tmp_path / "tree", {"src/test": "a file"})
    lay_java_tests(tree, write_tree(tmp_path / "golden", GOLDEN))
    assert files(tree) == {"src/test": "a file"}


def test_java_11_is_raised_where_it_is_named_as_usual(tmp_path: Path) -> None:
    """Four elements of a build file; a release and other versions stay."""
    pom = tmp_path / "pom.xml"
    raise_java(pom)
    assert not pom.exists()
    pom.write_text("<source>11</source><maven.compiler.target>11</maven.compiler.target><release>11</release>")
    raise_java(pom)
    assert pom.read_text() == (
        "<source>17</source><maven.compiler.target>17</maven.compiler.target><release>11</release>"
    )


def test_a_script_comes_before_the_wrapper_and_that_before_maven(tmp_path: Path) -> None:
    """Wherever they lie; they run in their own folder."""
    assert java_tests(tmp_path) == (["mvn", "clean", "test"], tmp_path)
    write_tree(tmp_path / "a", {"mvnw": ""})
    assert java_tests(tmp_path) == ([str(tmp_path / "a/mvnw"), "clean", "test"], tmp_path / "a")
    write_tree(tmp_path / "b", {"c/run_tests.sh": ""})
    assert java_tests(tmp_path) == (["bash", str(tmp_path / "b/c/run_tests.sh")], tmp_path / "b/c")


def test_commands_have_a_terminal_that_answers(tmp_path: Path) -> None:
    """Quarkus's question gets its `r`."""
    script = "test -t 1 && printf 'Press [r] to resume'; read answer; echo; echo got $answer"
    ended, late = on_terminal(["bash", "-c", script], tmp_path, 20)
    assert "got r" in ended
    assert not late


def test_a_late_command_is_ended_and_one_that_cannot_start_is_reported(tmp_path: Path) -> None:
    """What it printed until then is kept; a wrapper that may not be executed is only a message."""
    ended, late = on_terminal(["bash", "-c", "echo begun; sleep 60"], tmp_path, 0.5)
    assert ended.split() == ["begun", "TIMEOUT"]
    assert late
    (tmp_path / "mvnw").write_text("#!/bin/sh\n")
    ended, late = on_terminal([str(tmp_path / "mvnw"), "clean", "test"], tmp_path, 5)
    assert "Permission denied" in ended
    assert not late


def test_surefires_reports_are_read_wherever_they_lie(tmp_path: Path) -> None:
    """Below `target` and `surefire-reports`; what cannot be read counts nothing, but is there."""
    assert surefire(tmp_path) is None
    write_tree(tmp_path / "t", {"target/surefire-reports/TEST-a.xml": "<testsuite tests='no'/>"})
    assert surefire(tmp_path) == []
    good, huge = REPORT.format(name="b", tests=5), REPORT.format(name="c", tests=10**12)
    write_tree(tmp_path / "m", {"x/target/surefire-reports/TEST-b.xml": good, "reports/TEST-b.xml": good})
    write_tree(tmp_path / "n", {"target/surefire-reports/TEST-c.xml": huge})
    assert surefire(tmp_path) == [[5, 1, 0, 1]]


def test_tests_run_beside_the_service_which_no_one_reads(tmp_path: Path) -> None:
    """A service that prints without end does not halt; it ends with the tests; reports and output are reported."""
    tests = "kill -0 $(cat service) && echo it lives\nd=target/surefire-reports; mkdir -p $d; cp r $d/TEST-r.xml\n"
    report = REPORT.format(name="r", tests=4)
    service = "echo $$ > service\nhead -c 300000 /dev/zero\nexec sleep 60\n"
    repository = write_tree(
        tmp_path / "repo", {"start.sh": service, "run_tests.sh": tests, "r": report, "src/a": ""}
    )
    settings = {
        "script": str(repository / "start.sh"),
        "wait_s": 0.5,
        "repository": str(repository),
        "tests": str(write_tree(tmp_path / "golden", GOLDEN)),
        "tests_s": 20,
    }
    outcome = test_java(settings)
    assert outcome == {"output": "it lives\r\n", "late": False, "reports": [[4, 1, 0, 1]]}
    assert (repository / "src/test/java/NotesTest.java").is_file()
    stat = Path("/proc", (repository / "service").read_text().strip(), "stat")
    deadline = time.monotonic() + patient(10)
    while stat.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not stat.exists()


@pytest.mark.parametrize(
    ("installer", "script", "expected"),
    [
        (["sh", "-c", "echo broken; exit 1"], "sleep 60", {"install": "failed", "output": "broken\n"}),
        (["sleep", "60"], "sleep 60", {"install": "timeout"}),
        (["true"], None, {}),
        (["true"], "echo Tomcat started; exit 2", {"exit_code": 2, "output": "Tomcat started\n"}),
    ],
)
def test_what_is_not_built_is_not_started(
    tmp_path: Path, installer: list[str], script: str | None, expected: dict[str, object]
) -> None:
    """The build's end is reported, then the script's, with what it printed."""
    if script is not None:
        (tmp_path / "start.sh").write_text(f"{script}\n")
    settings = {
        "install": str(tmp_path),
        "installer": installer,
        "install_s": 0.5 if installer[0] == "sleep" else 20,
        "script": str(tmp_path / "start.sh") if script is not None else None,
        "alive_s": 20,
        "hanging_s": 5,
    }
    assert deploy(settings) == expected
