"""The tools that a model may call beside `bash`: what a new one needs stands in two files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from groundup.agents.tools import FURTHER_RULES, FURTHER_TOOLS, FurtherTool, fenced_blocks
from groundup.inside import source_of


def test_each_has_a_name_a_form_and_a_rule() -> None:
    """Option, offer and system prompt know the same tools."""
    assert list(get_args(FurtherTool)) == list(FURTHER_TOOLS) == list(FURTHER_RULES)
    assert [tool.name for tool in FURTHER_TOOLS.values()] == list(FURTHER_TOOLS)


@pytest.mark.parametrize("name", sorted({*FURTHER_TOOLS} - {"todo"}))
def test_the_program_in_the_sandbox_knows_each(name: str, tmp_path: Path) -> None:
    """Whatever the agent does not do itself, the program does; one that it does not know is named as missing."""
    (tmp_path / "a.txt").write_text("one\n")
    given = {"path": str(tmp_path / "a.txt"), "old": "one", "new": "two"}
    argv = [sys.executable, "-I", "-c", source_of("guest_files.py").decode(), name]
    done = subprocess.run(argv, input=json.dumps(given).encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no block", []),
        ("```\nx\n```", [("", "x", True)]),
        ("```bash\nls\n\ncd\n```\nthen\n```PYTHON\n1\n```", [("bash", "ls\n\ncd", True), ("python", "1", True)]),
        ("````md\n```\nin it\n```\n````", [("md", "```\nin it\n```", True)]),
        ("```\na\n````\n", [("", "a", True)]),
        ("```sh\na\n``` not its end\nb", [("sh", "a\n``` not its end\nb", False)]),
        ("```\n", [("", "", False)]),
        ("```\n```", [("", "", True)]),
    ],
)
def test_blocks_are_read_as_markdown_reads_fences(text: str, found: list[tuple[str, str, bool]]) -> None:
    """Each ends at a fence as long as its own; the last may have none."""
    assert fenced_blocks(text) == found
