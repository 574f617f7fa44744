"""Edit run folders as somebody careless or dishonest would, and look at what each command says of them.

Each edit of `tests/store/edits.py` is done to a copy of a run. Each command has to name it, to end with the
documented exit code, and to hint at a command that finds it; so do four pages of the viewer: the list, a run, a
comparison and a bundle. Usage: python -m benchmarks.edits
"""

import contextlib
import io
import os
import shutil
import tempfile
from pathlib import Path

from tests.cli.conftest import Ended
from tests.cli.test_edited_runs import EDITS, commands, unsaid
from tests.store.folders import SHAPES, as_earlier, write_run

from groundup.cli.main import main as command_line


def _groundup(*arguments: str | Path) -> Ended:
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command_line([str(argument) for argument in arguments])
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Ended(code, said[0], said[1])


def main() -> None:
    """Try every edit by every command, and print what is not said."""
    left = 0
    with tempfile.TemporaryDirectory() as room:
        os.environ["GROUNDUP_CACHE_DIR"] = f"{room}/cache"
        honest = Path(room, "honest")
        for suite in SHAPES:
            write_run(honest / suite, suite)
            as_earlier(write_run(honest / f"earlier-{suite}", suite))
        write_run(honest / "agent", "nl2repobench", made_by_agent=True)
        as_earlier(write_run(honest / "earlier-agent", "nl2repobench", made_by_agent=True))
        for number, (case, (name, edit)) in enumerate(EDITS.items()):
            run = Path(shutil.copytree(honest / name, Path(room, str(number), "edited", "copy")))
            edit(run)
            found = unsaid(_groundup, run, honest / name, Path(room, str(number)))
            left += len(found)
            for one in found:
                print(f"{case}: {one}")
            shutil.rmtree(Path(room, str(number)))
        tried = len(commands(honest, honest, honest))
    print(f"{len(EDITS)} edits by {tried} commands and four pages of the viewer: {left} times something was wrong")


if __name__ == "__main__":
    main()
