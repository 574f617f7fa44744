"""What stands around declarations: each byte that stays, goes or comes, for combinations of edits.

`python -m tests.manifests.test_golden` writes golden/ anew: read what changed, for users see it.
"""

import json
from pathlib import Path

import pytest

from tests.languages.test_golden import all_edits_told

GOLDEN = Path(__file__).parent / "golden"
LAYOUTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("layouts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", LAYOUTS)
def test_every_layout_is_kept(path: str) -> None:
    """With the first, the last, every second or no declaration left, and none, two, or one twice put to them."""
    assert all_edits_told(path, LAYOUTS[path]) == (GOLDEN / f"{path}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    for path, texts in LAYOUTS.items():
        (GOLDEN / f"{path}.txt").write_text(all_edits_told(path, texts), encoding="utf-8")
