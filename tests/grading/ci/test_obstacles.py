"""What keeps a job from being run here, and what act is given of a workflow."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.grading.ci.actions import (
    STAND_INS,
    UNSUPPORTED,
    Action,
    JobNeeds,
    needs_of,
    only_uploads,
    parse_uses,
    stub_of,
    write_stubs,
)
from groundup.workflows.workflow import Step, Workflow, read_workflow
from tests.workflows.made import MadeTree

CHECKOUT = {"uses": "actions/checkout@v4"}


def workflow(jobs: Mapping[str, object], **more: object) -> Workflow:
    """Return a workflow of these jobs."""
    return read_workflow(json.dumps({"on": "push", "jobs": jobs, **more}).encode(), "ci.yml")


def needs(
    job: Mapping[str, object],
    leg: Mapping[str, JsonValue] | None = None,
    files: Mapping[str, str] | None = None,
) -> JobNeeds:
    """Return what a job consists of, in a repository of these files."""
    one = workflow({"test": {"runs-on": "ubuntu-latest", **job}})
    return needs_of(one, one.job("test"), dict(leg or {}), MadeTree(files or {}))


@pytest.mark.parametrize(
    ("job", "kind"),
    [
        ({"services": {"db": {"image": "postgres"}}}, "services"),
        ({"container": "python:3.11"}, "container"),
        ({"runs-on": "windows-latest"}, "runner"),
        ({"runs-on": "ubuntu-24.04-arm"}, "runner"),
        ({"uses": "./.github/workflows/other.yml"}, "reusable workflow"),
        ({"steps": [{"uses": "docker://alpine"}]}, "container"),
        ({"steps": [{"uses": "somebody/unheard-of@v1"}]}, "action"),
        ({"steps": [{"uses": "actions/setup-java@v4"}]}, "action"),
        ({"steps": [{"uses": "./absent"}]}, "action"),
        ({"steps": [{"run": "Get-Item", "shell": "powershell"}]}, "shell"),
        ({"steps": [{"run": "cd ci\ndocker compose up -d"}]}, "container"),
        ({"steps": [{"run": "$CONDA/bin/conda env update --file environment.yml"}]}, "conda"),
        ({"steps": [{"run": "mamba install -y numpy"}]}, "conda"),
        ({"steps": [{"uses": "s-weigand/setup-conda@v1"}]}, "action"),
        ({"steps": [{**CHECKOUT, "with": {"repository": "other/one"}}]}, "checkout"),
        ({"steps": [CHECKOUT, {**CHECKOUT, "with": {"path": "below"}}]}, "checkout"),
        ({"steps": [{**CHECKOUT, "with": {"path": "${{ github.sha }}"}}]}, "checkout"),
    ],
)
def test_obstacles_are_named(job: Mapping[str, object], kind: str) -> None:
    """Whatever cannot be had here is reported by its kind, before anything runs."""
    assert [one.kind for one in needs(job).obstacles] == [kind]


def test_what_sets_conda_up_is_told_in_a_sentence() -> None:
    """An action or a command: packages of conda cannot be had, and no program would help."""
    for step in ({"uses": "conda-incubator/setup-miniconda@v3"}, {"run": "conda install --yes numpy"}):
        (found,) = needs({"steps": [step]}).obstacles
        assert found.what.endswith("there is no way to conda's channels")


def test_an_unknown_action_is_reported_by_name() -> None:
    """The sentence holds the action, so that a reader knows what is missing."""
    (obstacle,) = needs({"steps": [{"uses": "somebody/unheard-of/below@v1"}]}).obstacles
    assert "somebody/unheard-of/below" in obstacle.what


def test_what_never_runs_is_no_obstacle() -> None:
    """A step of another system, or that the leg leaves out, may use whatever it likes."""
    steps = [
        {"uses": "somebody/windows-only@v1", "if": "runner.os == 'Windows'"},
        {"uses": "somebody/benches@v1", "if": "matrix.benches"},
        {"uses": "somebody/old@v1", "if": "matrix.python == '3.7' && github.ref == 'x'"},
    ]
    assert not needs({"steps": steps}, {"python": "3.12"}).obstacles
    assert needs({"steps": steps}, {"python": "3.7", "benches": True}).obstacles


def test_local_composite_actions_are_followed() -> None:
    """Actions of the repository are read with all that they use; others than composite ones are refused."""
    composite = "runs: {using: composite, steps: [{uses: 'actions/setup-node@v4'}, {run: npm ci, shell: bash}]}"
    found = needs(
        {"steps": [{"uses": "./.github/actions/setup"}]}, files={".github/actions/setup/action.yml": composite}
    )
    assert found.local_actions == {".github/actions/setup": frozenset({0, 1})}
    assert [action.name for action in found.actions] == ["actions/setup-node"]
    refused = needs({"steps": [{"uses": "./a"}]}, files={"a/action.yaml": "runs: {using: node20, main: x.js}"})
    assert [one.kind for one in refused.obstacles] == ["action"]


def test_needs_count_too() -> None:
    """What a needed job cannot have here, the wanted one cannot either."""
    one = workflow({"a": {"services": {"db": {}}}, "test": {"needs": "a", "steps": []}})
    assert needs_of(one, one.job("test"), {}, MadeTree({})).obstacles


def test_the_tables_agree_with_the_stand_ins() -> None:
    """Every action in the table has its stand-in, none is in both tables, and case does not matter."""
    assert not {"actions/checkout", *STAND_INS} & UNSUPPORTED.keys()
    action = parse_uses("swatinem/Rust-Cache@v2")
    assert action == Action(repository="swatinem/Rust-Cache", ref="v2")
    assert stub_of(action) == "nothing"
    assert parse_uses("actions/cache/restore@v4") == Action(repository="actions/cache", below="/restore", ref="v4")
    assert parse_uses("./local") is None


@pytest.mark.parametrize(
    ("script", "uploads"),
    [
        ("coveralls --service=github", True),
        ("pip install codecov\ncodecov", True),
        ("bash <(curl -s https://codecov.io/bash)", True),
        ("pytest --cov\ncodecov", False),
        ("pip install codecov", False),
        ("curl -s https://codecov.io/bash | bash -s -- -f x.xml", True),
        ("python -m codecov --required", True),
        ('cat results.md >> "${GITHUB_STEP_SUMMARY}"', True),
        ("pytest >> $GITHUB_STEP_SUMMARY", False),
        ("pytest && bash <(curl -s https://codecov.io/bash)", False),
    ],
)
def test_reports_to_others_are_not_sent(script: str, uploads: bool) -> None:
    """A step that only uploads a report is skipped; one that does anything else is not."""
    assert only_uploads(Step(index=0, run=script)) is uploads


def uses(action: str, **given: object) -> dict[str, object]:
    """Return a step."""
    return {"uses": action, "with": given} if given else {"uses": action}


@pytest.mark.parametrize(
    ("step", "tools"),
    [
        (uses("taiki-e/install-action@cargo-hack"), "cargo-hack"),
        (uses("taiki-e/install-action@nextest"), "nextest"),
        (uses("taiki-e/install-action@v2", tool="cargo-hack,nextest@0.9"), ""),
        (uses("taiki-e/install-action@0c5d4b5f6f3c8f4d3b7f0a1f9f1c3f5f7a9b1c3d", tool="cross"), ""),
        (uses("dtolnay/install@cargo-expand"), "cargo-expand"),
        (uses("dtolnay/install@master", crate="cargo-expand"), ""),
        (uses("baptiste0928/cargo-install@v3", crate="cargo-msrv", version="0.16"), ""),
    ],
)
def test_a_tool_in_a_reference_is_installed(step: dict[str, object], tools: str, tmp_path: Path) -> None:
    """`@cargo-hack` names a tool as `tool:` does; a version names none."""
    found = needs({"steps": [step]})
    assert not found.obstacles
    (written,) = write_stubs(found.actions, tmp_path).values()
    text = (written / "action.yml").read_text()
    assert f'tool: {{default: "{tools}"}}' in text


def test_two_references_of_one_action_are_two_stand_ins(tmp_path: Path) -> None:
    """A job that installs two tools by reference gets both."""
    actions = needs({"steps": [uses(f"taiki-e/install-action@{tool}") for tool in ("nextest", "cross")]}).actions
    written = write_stubs(actions, tmp_path)
    assert {
        name: (place / "action.yml").read_text().count(name.partition("@")[2]) for name, place in written.items()
    } == {
        "taiki-e/install-action@nextest": 1,
        "taiki-e/install-action@cross": 1,
    }


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (uses("taiki-e/install-action@v2"), "names no tool"),
        (uses("taiki-e/install-action@v2", tool="shellcheck"), "not available as a crate"),
        (uses("baptiste0928/cargo-install@v3", crate="x", git="https://example.org/x"), "input git"),
        (uses("dtolnay/rust-toolchain@newest"), "names no toolchain"),
        (uses("actions-rs/cargo@v1", command="test", **{"use-cross": True}), "cannot do use-cross: true"),
        (
            uses("actions/setup-python@v6", **{"python-version": "3.12", "architecture": "x86"}),
            "architecture: x86",
        ),
        (uses("actions/setup-python@v6", freethreaded="true"), "freethreaded: true"),
        (uses("pnpm/action-setup@v4", run_install="- args: [--frozen-lockfile]"), "run_install: - args"),
        (uses("actions/cache@v4", path="x", key="y", **{"fail-on-cache-miss": "true"}), "fail-on-cache-miss"),
        (uses("snok/install-poetry@v1", **{"installation-arguments": "--git x"}), "input installation-arguments"),
        (uses("yezz123/setup-uv@v4", **{"uv-venv": "venv"}), "input uv-venv"),
        (uses("moonrepo/setup-rust@v1", bins="cargo-make"), "input bins"),
        (uses("astral-sh/setup-uv@v6", **{"no-such-input": "x"}), "input no-such-input"),
    ],
)
def test_what_a_stand_in_does_not_understand_is_reported(step: dict[str, object], expected: str) -> None:
    """A reference or an input that would change something is no silence: the job is not run, and this is why."""
    (obstacle,) = needs({"steps": [step]}).obstacles
    assert obstacle.kind == "action"
    assert expected in obstacle.what


@pytest.mark.parametrize(
    "step",
    [
        uses(
            "actions/setup-python@v5", **{"python-version": "3.12", "cache": "pip", "cache-dependency-path": "x"}
        ),
        uses("actions/setup-node@v4", **{"node-version": 20, "cache": "npm", "check-latest": True}),
        uses("astral-sh/setup-uv@v6", **{"enable-cache": True, "version": "0.5.x", "cache-suffix": "a"}),
        uses("dtolnay/rust-toolchain@1.85.0", components="rustfmt, clippy"),
        uses("dtolnay/rust-toolchain@nightly-2025-01-01"),
        uses("dtolnay/rust-toolchain@master", toolchain="${{ matrix.rust }}"),
        uses("actions-rust-lang/setup-rust-toolchain@v1", toolchain="stable", rustflags=""),
        uses("codecov/codecov-action@v4", token="${{ secrets.T }}", files="x.xml", anything="y"),
        uses("psf/black@stable", options="--check", src="."),
        uses("isort/isort-action@v1", configuration="--check-only"),
        uses("astral-sh/ruff-action@v3", args="check", version="0.8.0"),
        uses("bytecodealliance/actions/wasmtime/setup@v1", version="25.0.0"),
        uses("pnpm/action-setup@v4", version=9, run_install=False),
        uses("pypa/hatch@install"),
    ],
)
def test_usual_inputs_are_understood(step: dict[str, object]) -> None:
    """What only caches, reports or lints is left alone without a word."""
    found = needs({"steps": [step]}, {"rust": "stable"})
    assert not found.obstacles
    assert len(found.actions) == 1


def test_conditions_on_the_inputs_of_a_local_action_are_known() -> None:
    """An action that this call of a local action skips is no obstacle, and its step is not among those kept."""
    action = """
inputs: {browser: {default: "false"}}
runs:
  using: composite
  steps:
    - {uses: somebody/browser@v1, if: "inputs.browser == 'true'"}
    - {run: npm ci, shell: bash}
"""
    found = needs({"steps": [{"uses": "./a"}]}, files={"a/action.yml": action})
    assert not found.obstacles
    assert found.local_actions == {"a": frozenset({1})}
    assert needs({"steps": [uses("./a", browser="true")]}, files={"a/action.yml": action}).obstacles


def test_a_script_that_can_do_without_docker_is_no_obstacle() -> None:
    """What is guarded, or may fail, is left to the run."""
    for script in ("docker ps || true", "if command -v docker; then docker ps; fi"):
        assert not needs({"steps": [{"run": script}]}).obstacles
    assert not needs({"steps": [{"run": "docker ps", "continue-on-error": True}]}).obstacles


def test_an_archive_that_is_fetched_and_unpacked_is_an_obstacle() -> None:
    """Without network the unpacking fails, and says nothing of the network; installers are answered otherwise."""
    found = needs({"steps": [{"run": "mkdir x\nwget -qO- https://micro.mamba.pm/latest | tar -xvj bin"}]})
    assert [(one.kind, one.what.partition(" ")[0]) for one in found.obstacles] == [
        ("network", "https://micro.mamba.pm/latest")
    ]
    for script in ("curl -sSf https://sh.rustup.rs | sh", "curl -L https://a.b/c.tgz | tar xz || true"):
        assert not needs({"steps": [{"run": script}]}).obstacles
