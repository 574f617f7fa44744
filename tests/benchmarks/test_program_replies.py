"""Tests of benchmarks.program_replies: a script for every program, and MetaGPT's roles get what they ask for."""

import json
import subprocess
from pathlib import Path

import pytest
from benchmarks.program_replies import script_for

from groundup.agents.cli.preset import fill, preset_names, shipped_preset
from groundup.domain.conversations import ChatRequest, Message
from groundup.models.scripted.server import Script
from tests.patience import patient


def tree(folder: Path) -> Path:
    """Write a small service with its tests."""
    for name, text in {"main.py": "x = 1\n", "app/__init__.py": "", "requirements.txt": "flask\nhttpx\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_every_program_has_a_script(tmp_path: Path) -> None:
    """Nobody adds a preset that the monthly check leaves out, and each script is one."""
    for name in preset_names():
        Script.model_validate(script_for(name, tree(tmp_path)))
    assert script_for("no-such-program", tmp_path) is None


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("## nodes\n- Original Requirements: <class 'str'>  # Place them here.\n", '"Project Name"'),
        ("## nodes\n- File list: typing.List[str]  # Relative.\n", '"File list": ["app/__init__.py", "main.py"]'),
        ("- Required packages: typing.Optional\n- Task list: typing.List[str]\n", '["flask", "httpx"]'),
        ("## Code: main.py\n...\n## Code: main.py. Write code with triple quoto\n", "```\nx = 1\n```"),
        ("## Code Review Result: str. ONLY ANSWER LGTM/LBTM.\n", "## Code Review Result\nLGTM"),
        ("## Code Review All: Please read all files\n", "## TODOs\n{}"),
        ("Does the above log indicate anything that needs to be done?", "YES"),
    ],
)  # fmt: skip
def test_each_role_gets_its_form(tmp_path: Path, prompt: str, says: str) -> None:
    """Requirements, design, tasks with packages, a file, its review, the summary and the judgement of it."""
    script = Script.model_validate(script_for("metagpt", tree(tmp_path)))
    request = ChatRequest(messages=(Message(role="user", content=prompt),))
    assert says in script.turn_for(request).content


@pytest.mark.parametrize(
    ("written", "handed_in"),
    [
        (("game/main.py", "game/app/a.py"), {"requirements.txt", "docs/prd/1.json", "main.py", "app/a.py"}),
        (
            ("game/__init__.py", "game/a.py"),
            {"requirements.txt", "docs/prd/1.json", "game/__init__.py", "game/a.py"},
        ),
        (("game/game/__init__.py",), {"requirements.txt", "docs/prd/1.json", "game/__init__.py"}),
        ((), {"requirements.txt", "docs/prd/1.json"}),
    ],
    ids=["files", "a package", "a package of the project's name", "nothing"],
)
def test_what_metagpt_wrote_comes_to_its_place(
    tmp_path: Path, written: tuple[str, ...], handed_in: set[str]
) -> None:
    """Sources are counted from the workspace, a package keeps its folder, and the program's exit code is kept."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    for name in ("requirements.txt", "docs/prd/1.json", ".git/HEAD", *written):
        path = home / "out" / "game" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    workspace.mkdir()
    script = home / "company.sh"
    script.write_text(fill(shipped_preset("metagpt").files["company.sh"], {"home": str(home)}))
    done = subprocess.run(
        ["/bin/sh", script, "false", "idea"], cwd=workspace, env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        timeout=patient(60), check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert {str(one.relative_to(workspace)) for one in workspace.rglob("*") if one.is_file()} == handed_in


def test_a_tree_is_handed_in_without_its_tests(tmp_path: Path) -> None:
    """What the grader brings is not the program's to write."""
    (tree(tmp_path) / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("")
    assert "test_a" not in json.dumps(script_for("aider", tmp_path))
