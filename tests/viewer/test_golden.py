"""Every page over seven runs, in words and links.

`python -m tests.viewer.test_golden` writes the files in golden/ anew: read what changed, for users will see it.
"""

import re
import tempfile
from collections.abc import Mapping
from html import unescape
from itertools import groupby
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from groundup.settings import load
from groundup.viewer.app import Viewer
from groundup.viewer.site import site_of
from tests.viewer.seven import write_seven_runs

GOLDEN = Path(__file__).parent / "golden"
TWO, ONE = "/run/twice/attempt/one", "/run/once/attempt/one/0"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "runs": (
        "/",
        "/?sort=highest+score",
        "/?sort=lowest+score",
        "/?sort=highest+cost",
        "/?sort=name",
        "/?sort=suite",
        "/?q=twic",
        "/?q=nl2repo",
        "/?q=nothing+has+this",
        "/?first=3",
        "/?first=99",
    ),
    "run": (
        "/run/twice",
        "/run/once",
        "/run/model-a",
        "/run/broken",
        "/run/absent",
        "/run/twice?q=T",
        "/run/twice?stage=test",
        "/run/twice?first=2",
        "/run/twice/tables",
        "/run/model-a/tables",
        "/run/broken/tables",
        "/run/twice/task/one",
        "/run/twice/task/three",
        "/run/twice/task/four",
        "/run/twice/task/five%2B6%40x",
        "/run/once/task/one",
        "/run/once/task/absent",
    ),
    "attempt": (
        f"{TWO}/0",
        f"{TWO}/1",
        f"{TWO}/2",
        "/run/twice/attempt/three/0",
        "/run/twice/attempt/three/1",
        "/run/twice/attempt/four/0",
        "/run/twice/attempt/four/1",
        "/run/twice/attempt/five%2B6%40x/0",
        "/run/same/attempt/one/0",
        "/run/model-a/attempt/schema/0",
        "/run/model-a/attempt/sqlparse/0",
        f"{TWO}/0?tab=instruction",
        f"{TWO}/0?tab=tests",
        f"{TWO}/0?tab=tests&q=SPLIT&outcome=failed",
        f"{TWO}/0?tab=tests&first=1",
        "/run/model-a/attempt/jsonlines/0?tab=tests&q=iter",
        f"{TWO}/0?tab=logs",
        f"{TWO}/0?tab=logs&path=logs/trace.txt&start=20",
        f"{TWO}/0?tab=logs&path=logs/trace.txt&start=-30",
        f"{TWO}/0?tab=logs&path=agent/told.txt",
        f"{TWO}/0?tab=logs&path=logs/../config.json",
        f"{TWO}/1?tab=logs",
    ),
    "work": (
        f"{TWO}/0?tab=files",
        f"{TWO}/0?tab=files&path=pkg/main.py",
        f"{TWO}/0?tab=files&path=data.bin",
        f"{TWO}/0?tab=files&path=../../config.json",
        f"{TWO}/0?tab=files&against=once",
        f"{ONE}?tab=files&against=twice&attempt=0",
        f"{ONE}?tab=files&against=twice&attempt=7",
        f"{TWO}/0?tab=files&against=absent",
        f"{TWO}/0?tab=files&turn=1",
        f"{TWO}/0?tab=files&turn=2",
        f"{TWO}/0?tab=files&turn=2&path=pkg/main.py",
        f"{TWO}/0?tab=files&turn=99",
        f"{TWO}/1?tab=files",
        f"{TWO}/0?tab=trajectory",
        f"{TWO}/0?tab=trajectory&first=3",
        f"{TWO}/0?tab=trajectory&kind=result",
        f"{TWO}/0?tab=trajectory&kind=calls",
        f"{TWO}/0?tab=trajectory&kind=reasoning",
        f"{TWO}/0?tab=trajectory&kind=usage",
        f"{TWO}/0?tab=trajectory&kind=absent",
        f"{TWO}/0?tab=trajectory&turn=1",
        f"{TWO}/0?tab=trajectory&turn=2",
        f"{TWO}/0?tab=trajectory&turn=70",
        f"{TWO}/0?tab=trajectory&turn=99",
        f"{TWO}/0?tab=trajectory&beside=once",
        f"{TWO}/0?tab=trajectory&beside=once&first=2",
        f"{TWO}/0?tab=trajectory&beside=absent",
        f"{TWO}/1?tab=trajectory",
    ),
    "compare": (
        "/compare?run=twice&run=once",
        "/compare?run=twice&run=once&run=same&power=80",
        "/compare?run=twice&run=once&part=gained&other=once",
        "/compare?run=twice&run=once&part=both&other=once",
        "/compare?run=twice&run=once&part=both&other=twice",
        "/compare?run=once&run=same&q=T&first=1",
        "/compare?run=model-a&run=model-b",
        "/compare?run=once&run=official",
        "/compare?run=twice",
        "/compare?run=twice&run=broken",
    ),
}


def _words(page: str) -> str:
    """Return what a page says and where it leads, a line of the page each."""
    main = page[page.index("<main") : page.index("</main>")]
    main = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", "", main)
    main = re.sub(r'<[^>]*\b(?:href|value|action)="([^"]*)"[^>]*>', r" [\1] ", main)
    lines = [" ".join(unescape(re.sub(r"<[^>]+>", " ", part)).split()) for part in main.split("\n")]
    alike = ((line[:2000], len(list(several))) for line, several in groupby(filter(None, lines)))
    return "\n".join(line if count == 1 else f"{line} (and so {count} times)" for line, count in alike)


def _shown(group: str, folder: Path) -> str:
    write_seven_runs(folder)
    viewer = Viewer(load({"output": str(folder)}))
    parts = []
    try:
        with TestClient(viewer.app()) as client:
            for address in GROUPS[group]:
                reply = client.get(address, follow_redirects=False)
                said = reply.headers["location"] if reply.is_redirect else _words(reply.text)
                parts.append(f"##### {address} {reply.status_code}\n{said}\n")
    finally:
        viewer.index.close()
    return "\n".join(parts).replace(str(folder), "FOLDER")


def _site(folder: Path, *, trajectories: bool) -> str:
    """Return which pages a site has, and where each leads."""
    write_seven_runs(folder / "runs")
    runs = [folder / "runs" / name for name in ("once", "same", "broken")]
    made = site_of(runs, folder / "site", load({}), trajectories=trajectories)
    parts = [f"pages {made.pages}, left out {made.left_out}, unfit {made.unfit}"]
    for path in sorted((folder / "site").rglob("*")):
        if path.is_file():
            links = re.findall(r'(?:href|src)="([^"]*)"', path.read_text(encoding="utf-8"))
            parts.append(f"{path.relative_to(folder / 'site')}: {' '.join(dict.fromkeys(links))}")
    return "\n".join(parts).replace(str(folder), "FOLDER") + "\n"


@pytest.mark.parametrize("trajectories", [True, False])
def test_sites_have_the_same_pages(tmp_path: Path, *, trajectories: bool) -> None:
    """Their names stay, for others link to them; turns come where they are asked for."""
    file = GOLDEN / f"site-{trajectories}.txt"
    assert _site(tmp_path, trajectories=trajectories) == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("group", GROUPS)
def test_pages_read_as_before(group: str, tmp_path: Path) -> None:
    """Each word and link of each page, whatever its address asks for."""
    assert _shown(group, tmp_path) == (GOLDEN / f"{group}.txt").read_text(encoding="utf-8")


def _record() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for group in GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            (GOLDEN / f"{group}.txt").write_text(_shown(group, Path(folder)), encoding="utf-8")
    for trajectories in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            text = _site(Path(folder), trajectories=trajectories)
            (GOLDEN / f"site-{trajectories}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _record()
