"""The code that decides a verdict is found by its imports, and each change of it is noticed."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import groundup
from groundup import extensions
from groundup.extensions import ExtensionPackage
from groundup.store.verdict_cache import code_digest, modules_behind


def test_a_grader_is_decided_by_what_it_imports() -> None:
    """The trusted runner's neighbours, the sandbox and the layers are among it; the command line is not."""
    found = modules_behind("groundup.suites.nl2repobench.strict")

    assert {"groundup.grading.library.decision", "groundup.grading.library.belief"} <= found
    checks = {f"groundup_integrity.{name}" for name in ("check", "false_forms", "freshening")}
    assert checks <= found or not find_spec("groundup_integrity")
    assert {"groundup.sandbox.protocol", "groundup.environments.requests"} <= found
    assert not any(name.startswith(("groundup.cli", "groundup.runs", "groundup.agents")) for name in found)


def test_what_is_found_by_name_decides_as_well() -> None:
    """Gateways are found by a table, and count; so do the builder's modules; other suites do not."""
    found = modules_behind("groundup.suites.nl2repobench.strict")

    assert {"groundup.registries.npm", "groundup.registries.pypi.gateway"} <= found
    assert not any(name.startswith(("groundup.suites.dibench", "groundup.suites.repogenesis")) for name in found)
    assert "groundup.environments.python_builder" in modules_behind("groundup.environments.local")


def test_what_an_extension_adds_to_a_graders_tables_decides(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that a grader declares counts as an import of what every package beside groundup adds to it."""
    (package / "extension.py").write_text("CHECKS = {}\n")
    added = ExtensionPackage("foreign_suite", "checking", {}, {}, adds=("check",))
    monkeypatch.setattr(extensions, "EXTENSIONS", (added,))
    assert "foreign_suite.extension" not in modules_behind("foreign_suite.grader")

    (package / "grader.py").write_text('CHECKS: Table[Check] = Table("check", {})\n')
    assert "foreign_suite.extension" in modules_behind("foreign_suite.grader")
    (package / "grader.py").write_text('CHECKS = Table[Check](\n    "check", {}\n)\n')
    assert "foreign_suite.extension" in modules_behind("foreign_suite.grader")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a package with a grader of somebody else's."""
    folder = tmp_path / "foreign_suite"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "grader.py").write_text(
        "import os\n\ndef late():\n    from foreign_suite import (\n        rules,\n    )\n"
    )
    (folder / "rules.py").write_text("POINTS = 1\n")
    (folder / "data/runner.txt").write_text("run\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "foreign_suite", raising=False)
    return folder


@pytest.mark.parametrize("name", ["grader.py", "rules.py", "data/runner.txt"])
def test_a_change_of_what_decides_is_another_digest(package: Path, name: str) -> None:
    """The grader itself, what it imports late and what lies beside it all count."""
    code_digest.cache_clear()
    before = code_digest("foreign_suite.grader")
    code_digest.cache_clear()
    assert code_digest("foreign_suite.grader") == before

    (package / name).write_text((package / name).read_text() + "\n# changed\n")
    code_digest.cache_clear()
    assert code_digest("foreign_suite.grader") != before


GRADERS = ("groundup.suites.nl2repobench.strict", "groundup.suites.dibench.suite", "foreign_suite.grader")


def digests(*places: Path) -> dict[str, str]:
    """Return the digest of each grader, as a process says it that imports from *places*."""
    program = (
        "import json, sys; places, graders = json.loads(sys.argv[1]); sys.path[:0] = places\n"
        "from groundup.store.verdict_cache import code_digest\n"
        "print(json.dumps({one: code_digest(one) for one in graders}))"
    )
    arguments = json.dumps([[str(place) for place in places], GRADERS])
    told = subprocess.run([sys.executable, "-c", program, arguments], capture_output=True, check=True, text=True)
    found: dict[str, str] = json.loads(told.stdout)
    return found


def test_code_is_the_same_wherever_it_is_installed(package: Path, tmp_path: Path) -> None:
    """A checkout, and a wheel with the documentation in it beside a plug-in at another place, are one grader."""
    here = Path(groundup.__file__).parent
    installed = tmp_path / "site-packages"
    shutil.copytree(here, installed / "groundup", ignore=shutil.ignore_patterns("oracles", "recipes"))
    (installed / "groundup" / "docs").mkdir(exist_ok=True)
    (installed / "groundup" / "docs" / "index.md").write_text("for readers")
    (installed / "groundup" / "grading" / "README.md").write_text("what lies here")
    shutil.copytree(package, tmp_path / "a" / "plugins" / package.name)

    assert digests(installed, tmp_path / "a" / "plugins") == digests(here.parent, package.parent)
