"""Each fault of each edited run, what it makes of verdicts, and the sentences about it, to the letter.

`RECORD=1 pytest tests/store/test_golden.py` writes golden/faults.txt anew: read what changed, for users see it.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.domain.verdicts import standing_of
from groundup.store.folder import RunFolder
from tests.store.edits import FOUND, REFUSED
from tests.store.test_checking import runs  # noqa: F401 - a fixture

GOLDEN = Path(__file__).parent / "golden" / "faults.txt"


def _told(given: Path, folder: Path) -> Iterator[str]:
    cases = [(case, name, edit) for case, (name, edit, _, _) in FOUND.items()]
    cases += [(case, name, edit) for case, (name, edit, _) in REFUSED.items()]
    for number, (case, name, edit) in enumerate(cases):
        run = folder / str(number)
        shutil.copytree(given / name, run)
        edit(run)
        yield f"##### {name}: {case}"
        try:
            found = RunFolder(run).records()
        except UsageError as error:
            yield str(error).replace(str(run), "RUN")
            continue
        yield from map(str, found.faults)
        said = f"unchained {found.unchained}; {found.told(Path('a run'))}; {found.told_on_resuming(1)}"
        yield said.replace(str(found.faults[0]), "THE FIRST")
        for key, line in found.lines.items():
            reasons = line.verdict.reasons if line.verdict else ()
            yield f"{key} {standing_of(line.verdict)} {'; '.join(one.message for one in reasons)}"


def test_faults_are_told_as_ever(runs: Path, tmp_path: Path) -> None:  # noqa: F811
    """All of them, in their order."""
    text = "\n".join(_told(runs, tmp_path)) + "\n"
    if os.environ.get("RECORD"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
