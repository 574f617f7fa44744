"""Reading workflow files."""

import pytest

from groundup.workflows.workflow import WorkflowError, read_workflow

WHOLE = b"""
name: CI
on:
  push: {branches: [main]}
  pull_request:
env: {A: 1, B: true, C: 3.10}
defaults: {run: {shell: bash, working-directory: lib}}
jobs:
  lint:
    runs-on: ubuntu-latest
    steps: [{run: ruff check}]
  test:
    name: Tests
    needs: [lint]
    runs-on: [self-hosted, linux]
    if: github.event_name == 'push'
    services: {db: {image: postgres}}
    container: {image: "python:3.11"}
    strategy: {matrix: {python: ["3.11", 3.12], os: ubuntu-latest}}
    steps:
      - uses: actions/checkout@v4
      - id: setup
        uses: actions/setup-python@v5
        with: {python-version: 3.11, cache: true}
      - name: Run
        run: |
          pip install .
          pytest
        env: {X: y}
        continue-on-error: true
  called:
    uses: ./.github/workflows/other.yml
"""


def test_a_workflow_is_read_whole() -> None:
    """Events, jobs, needs, services, container, steps and their inputs come out as they were written."""
    workflow = read_workflow(WHOLE, "ci.yml")
    assert workflow.name == "CI"
    assert workflow.events == ("push", "pull_request")
    assert workflow.environment == {"A": "1", "B": "true", "C": "3.1"}
    test = workflow.job("test")
    assert (test.needs, test.services, test.container) == (("lint",), ("db",), "python:3.11")
    assert (test.shell, test.working_directory) == ("bash", "lib")
    assert test.matrix.axes == {"python": ("3.11", 3.12)}
    assert test.matrix.dynamic == ("os",)
    checkout, setup, run = test.steps
    assert (checkout.key, setup.key, run.key) == ("0", "setup", "2")
    assert setup.inputs == {"python-version": "3.11", "cache": "true"}
    assert run.continue_on_error
    assert run.environment == {"X": "y"}
    assert workflow.job("called").reusable == "./.github/workflows/other.yml"


def test_on_is_no_truth() -> None:
    """`on` is a key as GitHub reads it, not the truth of older YAML, also as a single word or a list."""
    assert read_workflow(b"on: push\njobs: {}", "x").events == ("push",)
    assert read_workflow(b"on: [push, pull_request]\njobs: {}", "x").events == ("push", "pull_request")


def test_dates_are_texts() -> None:
    """YAML reads them as something that JSON does not have; an action gets what was written."""
    job = b"a: {strategy: {matrix: {day: [2024-01-02]}}, steps: [{uses: x@v1, with: {since: 2024-01-03}}]}"
    read = read_workflow(b"jobs: {" + job + b"}", "x").job("a")
    assert read.matrix.axes == {"day": ("2024-01-02",)}
    assert read.steps[0].inputs == {"since": "2024-01-03"}


def test_what_is_needed_comes_first() -> None:
    """A job is returned after all that it needs, and rings are refused."""
    ring = b"jobs: {a: {needs: b}, b: {needs: [c]}, c: {needs: a}}"
    chain = b"jobs: {a: {needs: [b, c]}, b: {needs: c}, c: {}, d: {}}"
    assert [job.id for job in read_workflow(chain, "x").needed("a")] == ["c", "b", "a"]
    with pytest.raises(WorkflowError, match="need each other"):
        read_workflow(ring, "x").needed("a")
    long = "jobs:\n" + "".join(f"  j{at}: {{needs: j{at + 1}}}\n" for at in range(1500)) + "  j1500: {}\n"
    with pytest.raises(WorkflowError, match="more than 100 others"):
        read_workflow(long.encode(), "x").needed("j0")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"jobs: [", "not YAML"),
        (b"- a\n- b", "a mapping `jobs`"),
        (b"jobs: {a: 1}\njobs: {b: 2}", "not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
        (b"a: &a [*a]\njobs: {}", "nested too deeply"),
        (b"x" * 2_000_000, "too much"),
        (b"jobs: !!python/object/apply:os.system [ls]", "not YAML"),
        (b"on: push\njobs:\n  a: {\n", "line 4: not YAML"),
    ],
)
def test_what_is_no_workflow_is_reported(data: bytes, expected: str) -> None:
    """Damaged, doubled, endless and hostile files end with a sentence naming the file."""
    with pytest.raises(WorkflowError, match=r"bad\.yml") as error:
        read_workflow(data, "bad.yml")
    assert expected in str(error.value)


def test_an_unknown_job_lists_the_others() -> None:
    """The error names the nearest job."""
    with pytest.raises(WorkflowError, match="did you mean 'test'"):
        read_workflow(WHOLE, "ci.yml").job("tests")


def test_a_file_that_says_the_same_too_often_is_refused() -> None:
    """A few lines of aliases of aliases stand for billions of values; that ends at once, with a sentence."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 10)]

    with pytest.raises(WorkflowError, match="aliases"):
        read_workflow("\n".join((*lines, "jobs: {}")).encode(), "ci.yml")


def test_a_file_without_end_is_not_read() -> None:
    """More than a mebibyte is no workflow; reading it would take minutes."""
    fits = b"jobs: {}\n".ljust(1024 * 1024, b"#")
    assert read_workflow(fits, "ci.yml").jobs == ()
    with pytest.raises(WorkflowError, match=r"ci.yml has 1048577 bytes, which is too much"):
        read_workflow(fits + b"#", "ci.yml")


@pytest.mark.parametrize("event", ["pull_request", "workflow_dispatch", "schedule"])
def test_a_workflow_without_pushes_is_started_as_it_says(event: str) -> None:
    """Where a push starts nothing, the event that does is used."""
    assert read_workflow(f"on: {event}\njobs: {{}}".encode(), "x").event == event
