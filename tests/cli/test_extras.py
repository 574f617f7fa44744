"""Commands that need an extra which is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import TWO
from tests.needs import need
from tests.patience import patient

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("docker", "distributed", "starlette")))
from groundup.cli.main import main
raise SystemExit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (f"run {TWO} -a nop --sandbox docker", "containers"),
        (f"run {TWO} -a nop --sandbox podman@groundup/base", "containers"),
        (f"run {TWO} -a nop --workers tcp://127.0.0.1:1", "fleet"),
        ("fleet up --no-keys --local 1", "fleet"),
        ("serve nl2repobench", "serve"),
        ("view", "view"),
    ],
)
def test_a_missing_extra_is_bad_input(arguments: str, extra: str, tmp_path: Path) -> None:
    """Nothing was done, and trying again helps nobody: exit code 2, and the command that installs it."""
    if extra == "fleet":
        need("groundup_fleet")
    root = Path(__file__).parents[2]
    surroundings = {
        "PYTHONPATH": f"{root / 'src'}:{root}",
        "GROUNDUP_CACHE_DIR": str(tmp_path / "cache"),
        "GROUNDUP_BUILDER": "tests.runs.toy:create_builder",
    }

    def groundup(arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", WITHOUT, *arguments.split()]
        return subprocess.run(
            program,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=surroundings,
            timeout=patient(60),
        )

    ended = groundup(arguments)
    assert ended.returncode == 2, ended.stderr
    assert f"pip install 'groundup[{extra}]'" in ended.stderr.splitlines()[-1]
