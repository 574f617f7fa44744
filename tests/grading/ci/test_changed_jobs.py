"""Actions that look for changes, and steps of a job that its tests can do without."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from groundup.grading.ci.changes import with_changes_known
from groundup.grading.ci.plan import (
    PlannedJob,
    Tools,
    asked_pythons,
    python_asked_by_file,
    python_minors,
    substitute,
    unread_stamps,
    with_skipped,
    with_steps,
    without_needs,
)
from groundup.grading.ci.records import JobRequest, Obstacle, UnsupportedJobError
from groundup.workflows.workflow import Workflow, read_workflow
from tests.workflows.made import MadeTree


def scripted(uses: str, given: object = None, files: Mapping[str, str] | None = None) -> str:
    """Return the outputs that stand for an action, as the step's script writes them."""
    step = {"id": "look", "uses": uses, "if": "always()", "with": given}
    document: Any = {"on": "push", "jobs": {"test": {"steps": [step, {"run": "true"}]}}}
    changed: Any = with_changes_known(document, MadeTree(files or {}))
    first, second = changed["jobs"]["test"]["steps"]
    assert second == {"run": "true"}
    script = first.pop("run")
    assert first == {"name": uses, "id": "look", "if": "always()", "shell": "bash"}
    begin, end = "cat >> \"$GITHUB_OUTPUT\" <<'GROUNDUP'\n", "GROUNDUP\n"
    assert script.startswith(begin)
    assert script.endswith(end)
    return str(script.removeprefix(begin).removesuffix(end))


FILTERS = "src: ['**']\ndocs: ['docs/**']\n"


@pytest.mark.parametrize("given", [FILTERS, "./f.yml", " f.yml\n"])
def test_every_filter_says_that_its_files_changed(given: str) -> None:
    """Whether the filters stand in the step or in a file; their names are listed."""
    told = scripted("dorny/paths-filter@v3", {"filters": given}, {"f.yml": FILTERS})
    assert told == 'src=true\ndocs=true\nchanges=["src", "docs"]\n'


@pytest.mark.parametrize("given", [None, {}, {"filters": 3}, {"filters": "absent.yml"}, {"filters": "- a\n- b\n"}])
def test_without_filters_nothing_is_listed(given: object) -> None:
    """What cannot be read as filters names none."""
    assert scripted("AurorNZ/Paths-Filter@v3", given) == "changes=[]\n"


def test_changed_files_are_those_of_all_groups() -> None:
    """Everything was changed, nothing was deleted, and each group says so with its name before."""
    told = scripted(
        "tj-actions/changed-files@v44",
        {"files_yaml": "a: x\n", "files_yaml_from_source_file": "g.yml"},
        {"g.yml": "b: y"},
    )
    said = ["any_changed=true", "any_modified=true", "any_deleted=false", "only_deleted=false"]
    lines = [f"{group}{one}" for group in ("", "a_", "b_") for one in said]
    assert told.splitlines() == [*lines, "changed_keys=a b", "modified_keys=a b"]


def test_no_run_was_before_this_one() -> None:
    """So nothing is skipped for it."""
    told = scripted("fkirc/skip-duplicate-actions@v5", {"paths_filter": "a: x\n"})
    assert told == 'should_skip=false\nreason=groundup\npaths_result={"a": {"should_skip": false}}\n'


@pytest.mark.parametrize(
    "document",
    [
        3,
        {"on": "push"},
        {"jobs": []},
        {"jobs": {"a": 3}},
        {"jobs": {"a": {"steps": 3}}},
        {"jobs": {"a": {"steps": [3, {"uses": 3}, {"uses": "actions/checkout@v4"}, {"uses": "./look"}]}}},
    ],
)
def test_any_other_document_stays_as_it_is(document: Any) -> None:
    """Also one that is no workflow."""
    assert with_changes_known(document, MadeTree({})) == document


# --- jobs without some of their steps

JOB = """
on: push
jobs:
  test:
    needs: [a, b]
    runs-on: ubuntu-latest
    steps:
      - {id: v, name: Version, uses: owner/semver-action@v1}
      - {id: w, uses: owner/get-version@v1}
      - {uses: owner/setup-slack@v1}
      - {run: "echo ${{ steps.w.outputs.x }}"}
      - {run: pytest}
      - {uses: owner/changelog@v1}
  a: {runs-on: ubuntu-latest, steps: [{run: "true"}]}
  b: {runs-on: ubuntu-latest, steps: [{run: "true"}]}
"""


def workflow() -> Workflow:
    """Return a workflow with a job whose steps name and announce things."""
    return read_workflow(JOB.encode(), "ci.yml")


def test_what_only_names_things_and_is_read_nowhere_is_left_out() -> None:
    """One whose output another step reads stays, and so does one that sets a tool up."""
    assert unread_stamps(workflow().job("test")) == (0, 5)


def test_a_job_with_its_first_steps_or_without_some() -> None:
    """A step that is skipped keeps its name and id; a job that is not there changes nothing."""
    whole = workflow()
    steps: Any = whole.document["jobs"]
    steps = steps["test"]["steps"]
    assert [step.key for step in with_steps(whole, "test", 2).job("test").steps] == [
        step.key for step in whole.job("test").steps[:2]
    ]
    jobs: Any = with_skipped(whole, "test", [0, 5]).document["jobs"]
    skipped = jobs["test"]["steps"]
    assert skipped[0] == {"id": "v", "name": "Version", "if": False, "run": "exit 1", "shell": "bash"}
    assert skipped[5] == {"if": False, "run": "exit 1", "shell": "bash"}
    assert skipped[1:5] == steps[1:5]
    assert without_needs(whole, "test", ["a"]).job("test").needs == ("b",)
    assert with_steps(whole, "gone", 1) is with_skipped(whole, "gone", [0]) is without_needs(whole, "gone", ["a"])
    assert without_needs(whole, "test", []) is whole


def test_steps_after_the_tests_are_left_out_and_named(tmp_path: Path) -> None:
    """They report and publish; where nothing surely tests, all steps stay."""

    def planned(text: str) -> PlannedJob:
        (tmp_path / "ci.yml").write_text(text)
        return PlannedJob(JobRequest(tree=tmp_path, workflow="ci.yml", job="test"))

    steps = "[{run: pip install .}, {run: pytest}, {name: %s, run: twine upload dist/x}]" % ("Publish " * 10)
    job = "on: push\njobs: {test: {runs-on: ubuntu-latest, steps: STEPS}}\n"
    plan = planned(job.replace("STEPS", steps))
    assert plan.later == (("Publish " * 10)[:60],)
    assert [step.run for step in plan.job.steps] == ["pip install .", "pytest"]
    kept = planned(job.replace("STEPS", steps.replace("pytest", "make docs")))
    assert (kept.later, len(kept.job.steps)) == ((), 3)
    stamped = planned(job.replace("STEPS", "[{uses: owner/semver-action@v1}, {run: pytest}]"))
    assert (stamped.stamps, stamped.later) == (("owner/semver-action",), ())


# --- versions


@pytest.mark.parametrize(
    ("asked", "minors"),
    [
        ("3.12", ("3.12",)),
        ("3.6", ("3.6",)),
        ("cpython@3.10.2", ("3.10",)),
        ("python3.9-dev", ("3.9",)),
        ("", ("3.12", "3.14", "3.13", "3.11", "3.10", "3.9", "3.8", "3.7")),
        ("3.x", ("3.12", "3.14", "3.13", "3.11", "3.10", "3.9", "3.8", "3.7")),
        ("<3.9", ("3.8", "3.7")),
        (">=3.13", ("3.14", "3.13")),
        ("~3.9", ("3.9",)),
        ("~3", ("3.14", "3.13", "3.12", "3.11", "3.10", "3.9", "3.8", "3.7")),
        ("^3.12", ("3.14", "3.13", "3.12")),
        (">3.9.5, <=3.10.9", ("3.10", "3.9")),
        ("2.7", Obstacle(kind="Python", what="2.7")),
        (">=4", Obstacle(kind="Python", what=">=4")),
        ("3.13t", Obstacle(kind="Python", what="3.13t is no CPython with its lock")),
        ("PyPy3.9", Obstacle(kind="Python", what="PyPy3.9 is no CPython with its lock")),
    ],
)
def test_which_minor_versions_fit(asked: str, minors: tuple[str, ...] | Obstacle) -> None:
    """The usual one first where any will do, else the newest first."""
    assert python_minors(asked) == minors


@pytest.mark.parametrize(
    ("path", "text", "asked"),
    [
        ("a/pyproject.toml", "[tool.poetry.dependencies]\npython = '^3.9'\n", "^3.9"),
        ("pyproject.toml", "[project]\nname = 'python'\n", ""),
        (".tool-versions", "nodejs 20\n", ""),
        (".python-version", "\n# x\n  3.10  # y\n", "3.10"),
        ("absent", None, ""),
    ],
)
def test_a_file_may_ask_for_a_version(path: str, text: str | None, asked: str) -> None:
    """Its first word that is no comment, or what its form calls Python."""
    assert python_asked_by_file(path, lambda _: None if text is None else text.encode()) == asked


def test_each_version_that_a_job_asks_for_has_its_minors() -> None:
    """By name, then by file, else the usual one; one that no machine has is refused."""
    tree = MadeTree({".python-version": "3.10"})
    tools = Tools(kinds=("python",), asked={"python": ("3.9",)}, python_files=(".python-version",))
    assert [*asked_pythons(tools, tree)] == [("3.9", ("3.9",)), ("file:.python-version", ("3.10",))]
    assert [*asked_pythons(Tools(perhaps=("python",)), tree)] == [("", ("3.12",))]
    assert [*asked_pythons(Tools(kinds=("node",), asked={"python": ("3.9",)}), tree)] == []
    with pytest.raises(UnsupportedJobError, match=r"2\.7"):
        [*asked_pythons(Tools(kinds=("python",), asked={"python": ("2.7",)}), tree)]


@pytest.mark.parametrize(
    ("kind", "asked", "have", "told"),
    [
        ("node", ["18", "20"], "20.1.0", "node 20.1.0 for 18"),
        ("node", ["18", "16.x"], "20.1.0", "node 20.1.0 for 18, 16.x"),
        ("node", ["V20", "=20.1", "20.1.0", "*", "latest", " "], "20.1.0", None),
        ("node", ["2"], "20.1.0", "node 20.1.0 for 2"),
        ("rust", ["stable", "v1"], "1.80.0", None),
        ("rust", ["master"], "1.80.0", "rust 1.80.0 for master"),
        ("node", ["x" * 50, "y" * 50], "20.1.0", f"node 20.1.0 for {'x' * 50}, {'y' * 28}"),
    ],
)
def test_what_stands_for_another_version_is_told(kind: str, asked: list[str], have: str, told: str | None) -> None:
    """All that differ, in 80 characters; a version that begins like another is not the same."""
    assert substitute(kind, asked, have) == told
