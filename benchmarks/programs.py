"""Whether each program that groundup knows still works.

    python -m benchmarks.programs [NAME[@VERSION] ...] [--newest] [--service] [--output FOLDER]

Every program gets the task jsonlines of NL2RepoBench (with `--service` SimpleFastPyAPI of RepoGenesis) and a
scripted model, which has it write the original with the program's own shell. The program is installed through the
gateways, run, recorded and graded as in any run: one that works has 27 of 27 (2 of 2). `--newest` takes the newest
version from the registry, for a monthly check. Prints the table docs/data/programs.tsv; ends with 1 when a program
did not get there.
"""

import argparse
import base64
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import groundup
from groundup.agents.cli.preset import Preset, preset_names, shipped_preset
from groundup.store.folder import RunFolder

LIBRARY, SERVICE = ("nl2repobench", "jsonlines"), ("repogenesis", "SimpleFastPyAPI")
SHELLS: dict[str, tuple[str, dict[str, object]]] = {
    "claude-code": ("Bash", {"command": "{}"}),
    "cline": ("run_commands", {"commands": ["{}"]}),
    "codex": ("exec_command", {"cmd": "{}"}),
    "continue": ("Bash", {"command": "{}"}),
    "copilot": ("bash", {"command": "{}", "description": "write the library"}),
    "deepagents": ("execute", {"command": "{}"}),
    "deepcode": ("bash", {"command": "{}"}),
    "gemini-cli": ("run_shell_command", {"command": "{}", "description": "write the library"}),
    "gptme": ("shell", {"command": "{}"}),
    "grok-cli": ("bash", {"command": "{}"}),
    "hermes": ("terminal", {"command": "{}"}),
    "kimi-cli": ("Shell", {"command": "{}"}),
    "mini-swe-agent": ("bash", {"command": "{}"}),
    "mistral-vibe": ("bash", {"command": "{}"}),
    "ms-agent": ("code_executor---shell_executor", {"command": "{}"}),
    "openhands": ("terminal", {"command": "{}", "security_risk": "LOW"}),
    "opencode": ("bash", {"command": "{}", "description": "write the library"}),
    "pi": ("bash", {"command": "{}"}),
    "qwen-agent": ("shell", {"command": "{}"}),
    "qwen-code": ("run_shell_command", {"command": "{}", "is_background": False}),
}
"""What each program calls its shell, and that tool's arguments."""
WRITERS = frozenset({"aider"})
"""Programs without a shell: they write the files that a reply gives whole, each after a line with its name."""


def main() -> int:
    """Check the named programs, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="NAME[@VERSION]")
    parser.add_argument("--newest", action="store_true", help="the newest version of each")
    parser.add_argument("--service", action="store_true", help="a service of RepoGenesis instead of a library")
    parser.add_argument("--output", type=Path, help="keep the runs in this folder")
    given = parser.parse_args()
    folder = given.output or Path(tempfile.mkdtemp(prefix="groundup-programs-"))
    asked = SERVICE if given.service else LIBRARY
    tree = original(folder, asked)
    failed = False
    print("| program | version | points | turns | seconds | outcome |\n|---|---|---|---|---|---|")
    for name in given.programs or preset_names():
        preset = shipped_preset(name.partition("@")[0])
        last = preset.ended.version if preset.ended else ""
        version = name.partition("@")[2] or ((last or newest(preset)) if given.newest else preset.proved) or ""
        row, whole = trial(preset, version, tree, asked)
        if preset.ended and version == last:
            row[-1] += f"; the last version: {preset.ended.why}"
        failed |= not whole
        print(f"| {' | '.join(row)} |", flush=True)
    return int(failed)


def original(folder: Path, asked: tuple[str, str] = LIBRARY) -> Path:
    """Return the tree of the task's original, by a run of the oracle below *folder*."""
    suite, task = asked
    run = groundup.run(suite, "oracle", tasks=task, output=folder, run_id="oracle")
    return run.folder / "attempts" / task / "0" / "submission"


def writing(tree: Path) -> str:
    """Return the shell command that writes *tree* into the working folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for path in handed_in(tree):
            archive.add(path, path.name)
    return f"echo {base64.b64encode(packed.getvalue()).decode()} | base64 -d | tar xJ && ls"


def handed_in(tree: Path) -> list[Path]:
    """Return what of *tree* is the library: not its tests, nor what its build left."""
    left_out = ("tests", "PKG-INFO")
    return [one for one in sorted(tree.iterdir()) if one.name not in left_out and one.suffix != ".egg-info"]


def in_whole(tree: Path) -> str:
    """Return the files of *tree* as a reply that gives them whole."""
    files = [path for top in handed_in(tree) for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    return "\n".join(f"{path.relative_to(tree)}\n```\n{path.read_text()}```\n" for path in files if path.is_file())


def newest(preset: Preset) -> str:
    """Return the newest version in the program's registry."""
    assert preset.install is not None
    name, python = preset.install.package, preset.install.python
    if preset.install.registry == "npm":
        return subprocess.run(
            ["npm", "view", name, "version"], capture_output=True, text=True, check=True
        ).stdout.strip()
    asked = [
        sys.executable,
        "-m",
        "pip",
        "index",
        "versions",
        "--python-version",
        python,
        "--only-binary",
        ":all:",
        name,
    ]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return found.partition("(")[2].partition(")")[0]


def trial(preset: Preset, version: str, tree: Path, asked: tuple[str, str]) -> tuple[list[str], bool]:
    """Return the row of one program that writes *tree*, the oracle's, and whether it got all points."""
    suite, task = asked
    folder = tree.parents[4]
    rules: list[dict[str, object]] = []
    first: dict[str, object]
    if preset.name in WRITERS:  # their prompts hold replies as examples, so turns cannot be counted
        first = {"content": in_whole(tree)}
        rules = [{"when": ".", **first}]
    elif preset.name in SHELLS:
        tool, arguments = SHELLS[preset.name]
        command = writing(tree)
        filled = {
            name: [command] if value == ["{}"] else command if value == "{}" else value
            for name, value in arguments.items()
        }
        first = {"content": "", "calls": [{"tool": tool, "arguments": filled}]}
    else:
        return [preset.name, version, "-", "-", "-", "not tried: its shell is not known here (SHELLS)"], True
    script = folder / f"{preset.name}.json"
    script.write_text(json.dumps({"turn": [first, {"content": "Done."}], "rule": rules}))
    began = time.monotonic()
    try:
        run = groundup.run(
            suite, f"{preset.name}@{version}", model=f"scripted/{script}", tasks=task, output=folder,
            run_id=f"{preset.name}-{version}", max_turns=12, max_seconds=900,
        )  # fmt: skip
    except groundup.GroundupError as error:
        return [
            preset.name,
            version,
            "-",
            "-",
            f"{time.monotonic() - began:.0f}",
            str(error).replace("\n", " ")[:200],
        ], False
    (attempt,) = RunFolder(run.folder).latest().values()
    score = attempt.verdict.score if attempt.verdict else None
    points = f"{score.numerator:g}/{score.denominator:g}" if score else "-"
    reasons = attempt.verdict.reasons if attempt.verdict else ()
    detail = f"{attempt.outcome}: {reasons[0].message}" if reasons else str(attempt.outcome)
    turns = attempt.effort.turns if attempt.effort else 0
    whole = score is not None and score.numerator == score.denominator
    return [preset.name, version, points, str(turns), f"{time.monotonic() - began:.0f}", detail[:200]], whole


if __name__ == "__main__":
    sys.exit(main())
