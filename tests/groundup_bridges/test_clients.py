"""Harnesses of others read what is written for them; `make clients` installs them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from groundup.registries.uv import uv_program
from groundup.settings import Settings, load
from groundup.store.folder import RunFolder
from groundup.suites.places import data_folder
from groundup_bridges.api import import_jobs
from tests.groundup_bridges.endpoint import Script, endpoint
from tests.groundup_bridges.test_harbor_export import exported
from tests.needs import lack
from tests.serving.house import Client, job_in, opened
from tests.serving.test_clients import original, run

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LATER = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDUP_")} | {
    "NO_PROXY": "127.0.0.1"
}
"""What programs of harnesses get of this process's environment: they install with the user's certificates."""


def installed(folder: Path, packages: Sequence[str], python: str, alone: Sequence[str] = ()) -> str:
    """Return an interpreter that has *packages*, and *alone* without what they need; skip where that cannot be."""
    package = packages[0]
    if not os.environ.get("CLIENTS"):
        lack("make clients", f"installing {package} takes a while")
    place = str(folder)
    install = ("pip", "install", "-q", "-p", place)
    further = [(*install, "--no-deps", *alone)] if alone else []
    for arguments in (("venv", "-p", python, place), (*install, *packages), *further):
        done = subprocess.run([uv_program(), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            lack(f"the package {package}", done.stderr.strip()[-300:])
    return str(folder / "bin" / "python")


@pytest.mark.registry
async def test_harbors_own_models_accept_a_task_and_write_a_trial(tmp_path: Path) -> None:
    """They find a verifier apart with its own tests; what they write of a trial is read as an attempt."""
    python = installed(tmp_path / "venv", ["harbor"], "3.12")
    folder, jobs = await exported(tmp_path), tmp_path / "jobs"
    program = HERE / "clients" / "read_harbor.py"
    found = json.loads(await run(python, str(program), str(folder), str(jobs)))
    assert (found["name"], found["mode"], found["tests_in_image"]) == ("groundup/toy__task-0000", "separate", True)
    assert found["solution"].endswith("solve.sh")
    (path,) = import_jobs(jobs, settings=Settings(output=tmp_path / "runs", cache_dir=tmp_path / "cache"))
    (line,) = RunFolder(path).lines()
    assert line.verdict is not None
    assert line.verdict.score is not None
    assert line.verdict.score.value == 0.5
    assert line.effort is not None
    assert line.effort.usage.output_tokens == 3


@pytest.fixture
def engine() -> None:
    """Skip where no Docker with its plugin `compose` answers."""
    for words in (("docker", "info"), ("docker", "compose", "version")):
        done = shutil.which("docker") and subprocess.run(words, capture_output=True, text=True, check=False)
        if not done or done.returncode:
            lack("Docker with compose", (done and (done.stderr or done.stdout).strip()[-300:]) or "it is not here")


@pytest.mark.registry
@pytest.mark.end_to_end
@pytest.mark.timeout(900)
async def test_harbor_runs_an_exported_task_on_docker(tmp_path: Path, engine: None) -> None:
    """By the page's commands: the original is worth 1, an empty workspace 0, and both come back as attempts."""
    needs_data()
    python = installed(tmp_path / "venv", ["harbor"], "3.12")
    own = f"{Path(sys.executable).parent}:{Path(python).parent}:{LATER['PATH']}"
    variables = {**settings_of(tmp_path), "PATH": own, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

    async def typed(program: str, more: str = "") -> None:
        command = of_page(program).replace("sqlparse", "jsonlines")
        await run("bash", "-c", f"set -o pipefail; cd {tmp_path}; {command} {more}", **variables)

    await typed("groundup harbor export", "--network-mode none")
    tags = [
        json.loads((tmp_path / "tasks" / "jsonlines" / folder / "manifest.json").read_text())[0]["RepoTags"][0]
        for folder in ("environment", "tests")
    ]
    try:
        await typed("tar -C tasks/sqlparse/environment")
        await typed("tar -C tasks/sqlparse/tests")
        await typed("harbor run")
        await typed("harbor run", "-a nop")
    finally:
        await run("bash", "-c", f"docker image rm {' '.join(tags)} || true", **variables)
    await typed("groundup harbor import")
    found = {}
    for folder in (tmp_path / "runs").iterdir():
        (line,) = RunFolder(folder).lines()
        assert line.verdict is not None
        assert line.verdict.score is not None
        found[folder.name] = (line.verdict.score.numerator, line.verdict.score.denominator)
    assert sorted(found.values()) == [(0, 27), (27, 27)], found


def settings_of(tmp_path: Path) -> dict[str, str]:
    """Return the variables by which a program in another environment finds this one's layers and data."""
    found = load()
    return {
        **LATER,
        "GROUNDUP_CACHE_DIR": str(found.cache_dir),
        "GROUNDUP_DATA_DIR": str(found.data),
        "GROUNDUP_OUTPUT": str(tmp_path / "runs"),
        "OPENAI_API_KEY": "none",
    }


def needs_data() -> None:
    """Skip where NL2RepoBench's specifications are not here."""
    if data_folder("nl2repobench", load()) is None:
        lack("data of NL2RepoBench", "pull it with `groundup data pull nl2repobench`")


@pytest.mark.registry
@pytest.mark.end_to_end
async def test_inspects_conformance_checks_pass(tmp_path: Path) -> None:
    """All but the one that makes users, of which a sandbox has one."""
    python = installed(tmp_path / "venv", ["inspect-ai", "pytest", "-e", str(ROOT)], sys.executable)
    program = HERE / "clients" / "check_inspect_sandbox.py"
    options = ("-q", "--noconftest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path))
    printed = await run(python, "-m", "pytest", *options, str(program), **settings_of(tmp_path))
    assert re.search(r"\d+ passed, 1 xfailed", printed)


def of_page(program: str) -> str:
    """Return the page's command that begins with *program*, as one line."""
    page = (ROOT / "docs" / "harnesses.md").read_text().replace("\\\n", " ")
    (command,) = re.findall(rf"^    ({re.escape(program)} .*)$", page, flags=re.MULTILINE)
    return str(command)


@pytest.mark.registry
@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("command", "ending", "expected"),
    [
        ("original", [("submit", {})], 1.0),
        ("true", [("submit", {"answer": "done"})], 0.0),
        ("true", [("sumbit", {})] * 300, 0.0),
        ("original", [], 1.0),
    ],
    ids=["submit", "answer", "no such tool", "words alone"],
)
async def test_inspect_plays_by_the_pages_command(
    tmp_path: Path, command: str, ending: Script, expected: float
) -> None:
    """The original, unpacked by its tool, is worth 1; an empty workspace 0; who never submits comes to an end."""
    needs_data()
    extra = of_page("pip install 'groundup[inspect]'").split()[3:]
    python = installed(tmp_path / "venv", ["inspect-ai", *extra, "-e", str(ROOT)], sys.executable)
    unpacked = f"echo {original(tmp_path)} | base64 -d | tar xz" if command == "original" else command
    program = Path(python).with_name("inspect")
    asked = of_page("inspect eval").replace("sqlparse", "jsonlines").split()[2:]
    async with endpoint([("bash", {"command": unpacked}), *ending]) as url:
        shown = ("--display", "none", "--log-format", "json", "--log-dir", str(tmp_path / "logs"))
        variables = {**settings_of(tmp_path), "OPENAI_BASE_URL": url}
        await run(str(program), "eval", *asked, *shown, "-M", "responses_api=false", **variables)
    (log,) = (tmp_path / "logs").glob("*.json")
    document = json.loads(log.read_text())
    assert document["results"]["scores"][0]["metrics"]["mean"]["value"] == expected
    replies = [one for one in document["samples"][0]["messages"] if one["role"] == "assistant"]
    assert len(replies) <= 200


@pytest.mark.registry
async def test_the_pages_example_for_inspect_works(tmp_path: Path) -> None:
    """It has at most 20 lines, and its commands run in groundup's sandbox."""
    python = installed(tmp_path / "venv", ["inspect-ai", "openai", "-e", str(ROOT)], sys.executable)
    text = (ROOT / "docs" / "harnesses.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(example.splitlines()) <= 20
    (tmp_path / "kernel.py").write_text(example)
    script = [("bash", {"command": "ls /.groundup"})]
    asked = (f"{tmp_path / 'kernel.py'}@kernel",)
    header = await evaluated(python, asked, script, tmp_path / "logs", settings_of(tmp_path))
    assert header["status"] == "success"


async def evaluated(
    python: str, asked: Sequence[str], script: Script, logs: Path, variables: dict[str, str]
) -> dict[str, Any]:
    """Let Inspect evaluate a scripted model and return the head of its log."""
    async with endpoint(script) as url:
        model = ("--model", "openai-api/scripted/scripted", "--model-base-url", url, "-M", "api_key=none")
        shown = ("--display", "none", "--log-format", "json", "--log-dir", str(logs))
        await run(python, "-m", "inspect_ai", "eval", *asked, *model, *shown, **variables)
    (log,) = logs.glob("*.json")
    header: dict[str, Any] = json.loads(log.read_text())
    return header


@pytest.mark.registry
@pytest.mark.parametrize("client", ["inspect", "firehorse"])
async def test_harnesses_for_ors_play(tmp_path: Path, client: str) -> None:
    """A served episode to 1 and one to 0, by what the harness itself makes of the tools; records say the same."""
    packages = {"inspect": ["inspect-openreward", "inspect-ai", "openai"], "firehorse": ["firehorse-cli"]}
    python = installed(tmp_path / "venv", packages[client], sys.executable)
    async with opened(job_in(tmp_path, tasks=["task-0000"])) as house:
        for word, reward in (("pass", 1.0), ("fail", 0.0)):
            async with endpoint([("bash", {"command": f"behave {word}"}), ("submit", {})]) as url:
                program = HERE.parent / "serving" / "clients" / f"play_{client}.py"
                printed = await run(python, str(program), house.address, "toy", url, **LATER)
                assert json.loads(printed.splitlines()[-1]) == [reward]
        assert house.scores() == [1.0, 0.0]


@pytest.mark.registry
async def test_nemo_gym_collects_rollouts(tmp_path: Path) -> None:
    """Two commands and a submit, to 1 and to 0, by its collection and agent; records say the same."""
    python = installed(tmp_path / "venv", ["nemo-gym"], "3.12")
    program = str(HERE.parent / "serving" / "clients" / "play_nemo_gym.py")
    async with opened(job_in(tmp_path, tasks=["task-0000"])) as house:
        for word, reward in (("pass", 1.0), ("fail", 0.0)):
            printed = await run(python, program, house.address, "ls", f"behave {word}", **LATER)
            assert json.loads(printed.splitlines()[-1]) == [reward]
        assert house.scores() == [1.0, 0.0]


@pytest.mark.registry
async def test_verifiers_plays_by_the_pages_command(tmp_path: Path) -> None:
    """A served episode to 1 and one to 0; the run's records say the same as its traces."""
    python = installed(tmp_path / "venv", ["verifiers", "-e", str(ROOT)], sys.executable)
    variables = {**LATER, "PATH": f"{Path(python).parent}:{LATER['PATH']}", "OPENAI_API_KEY": "none"}
    async with opened(job_in(tmp_path, tasks=["task-0000"])) as house:
        for word in ("pass", "fail"):
            async with endpoint([("bash", {"command": f"behave {word}"}), ("submit", {})]) as url:
                command = of_page("vf-eval").replace("http://127.0.0.1:8080", house.address)
                command = command.replace("https://api.openai.com/v1", url)
                await run("bash", "-c", f"{command} -o {tmp_path / word}", **variables)
        assert house.scores() == [1.0, 0.0]
    for word, reward in (("pass", 1.0), ("fail", 0.0)):
        (traces,) = (tmp_path / word).rglob("traces.jsonl")
        (trace,) = json.loads(traces.read_text())["traces"]
        assert trace["rewards"]["nemo_gym"]["score"] == reward


@pytest.mark.registry
async def test_exported_rows_are_read_by_datasets_and_formatted_by_trl(tmp_path: Path) -> None:
    """They have their rewards, and a chat template finds the tools, their calls and results."""
    # TRL's formatting needs no PyTorch, which its other parts do.
    packages = ["datasets", "transformers", "jinja2", "-e", str(ROOT)]
    python = installed(tmp_path / "venv", packages, sys.executable, alone=["trl"])
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        for word in ("half", "pass"):
            sid = await client.create()
            await client.bash(sid, f"behave {word}")
            await client.call(sid, "submit")
        folder = RunFolder(house.job.path)
    rows = tmp_path / "rows"
    arguments = ("export", str(folder.path), str(rows), "--format", "messages", "--min-score", "0")
    await run(python, "-m", "groundup", *arguments, **LATER)
    program = HERE / "clients" / "read_rows.py"
    found = json.loads(await run(python, str(program), str(rows), HF_HUB_OFFLINE="1", **LATER))
    assert found["rewards"] == [0.5, 1.0]
    text = found["messages"][1]
    assert text.startswith("<tool>bash</tool><tool>submit</tool><user>Write task-0000.")
    assert '<call>bash {"command": "behave pass"}</call><tool>done' in text.replace('\\"', '"')


@pytest.mark.registry
@pytest.mark.timeout(900)
async def test_trl_takes_a_step_of_grpo(tmp_path: Path) -> None:
    """By the example, without a GPU: its tools are called, rewards are the server's, and the weights move."""
    packages = ["trl", "openenv", "datasets", "transformers", "torch", "jmespath"]
    python = installed(tmp_path / "venv", packages, sys.executable)
    async with opened(job_in(tmp_path, split=["train"])) as house:
        program = str(HERE.parent / "serving" / "clients" / "train_trl.py")
        words = (house.address, str(tmp_path / "model"), "behave pass", "behave fail")
        printed = await run(python, program, *words, HF_HUB_OFFLINE="1", **LATER)
        assert json.loads(printed.splitlines()[-1]) == {"reward": 0.5, "calls": 1.5, "moved": True}
        assert house.scores() == [1.0, 0.0]
