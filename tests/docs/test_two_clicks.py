"""Whoever has only README finds what people come for, in two clicks."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

README = ROOT / "README.md"
WANTED = {
    "grade with published numbers": "groundup evaluate nl2repobench -p predictions/ --grader official",
    "compare two models with error bars": "groundup compare runs/model-a runs/model-b",
    "see why a task lost points": "groundup why runs/mine",
    "run an agent of my own in a container": "| a container image | [unpacked into a folder]",
    "resume after a crash": "groundup resume runs/mine",
    "use my proxy and mirror": "Certificates come from `SSL_CERT_FILE`",
    "let models be called through my proxy": "the proxy that `HTTPS_PROXY` names",
    "train by reinforcement learning": "groundup serve nl2repobench --slots 16",
    "make 50 tasks of my libraries": "To get 50 tasks, name about 150",
    "add a suite": "groundup run my_package.my_suite:create -a oracle",
    "cite it": "@software{groundup",
    "report the environment": "groundup doctor --json",
    "limit cost and time": "| time | `--max-seconds 20m`",
    "work on a Slurm cluster": "#SBATCH",
}
"""What people want, and the words that answer it."""
_LINK = re.compile(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)")


def _linked(page: Path) -> set[Path]:
    return {(page.parent / link).resolve() for link in _LINK.findall(page.read_text(encoding="utf-8"))}


def clicks_to(words: str) -> int | None:
    """Return after how many links from README a page says *words*; None after more than two."""
    pages, seen = {README.resolve()}, set[Path]()
    for clicks in range(3):
        if any(words in page.read_text(encoding="utf-8") for page in pages if page.is_file()):
            return clicks
        seen |= pages
        pages = {link for page in pages if page.is_file() for link in _linked(page)} - seen
    return None


@pytest.mark.parametrize("wanted", WANTED)
def test_two_clicks_from_readme(wanted: str) -> None:
    """The answer stands on README, on a page that it links, or on one that those link."""
    assert clicks_to(WANTED[wanted]) is not None
