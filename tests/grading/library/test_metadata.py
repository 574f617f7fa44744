"""What an installed original would leave behind."""

from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import Distribution
from groundup.grading.library.staging import metadata_files, script_files

CALC = Distribution(
    name="my.calc-lib",
    version="2.1",
    entry_points={"console_scripts": {"calc": "calc.cli:App.main"}, "calc.plugins": {"add": "calc.add"}},
    requires=("attrs>=20",),
)


def test_the_interpreter_reads_the_metadata_back(tmp_path: Path) -> None:
    """A library that asks for its own version, requirements or entry points gets the original's."""
    for name, text in metadata_files(CALC).items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    distribution = PathDistribution(next(tmp_path.iterdir()))

    assert (distribution.metadata["Name"], distribution.version) == ("my.calc-lib", "2.1")
    assert distribution.requires == ["attrs>=20"]
    assert {(point.group, point.name, point.value) for point in distribution.entry_points} == {
        ("console_scripts", "calc", "calc.cli:App.main"),
        ("calc.plugins", "add", "calc.add"),
    }


def test_a_program_calls_its_entry_point() -> None:
    """A console script imports the module and leaves with what the attribute returns."""
    text = script_files(CALC, "/opt/env/bin/python")["calc"]

    assert text.startswith("#!/opt/env/bin/python\n")
    assert "from calc.cli import App\nsys.exit(App.main())\n" in text


@pytest.mark.parametrize("target", ["calc", "calc:main; import os", "", "calc:"])
def test_a_target_that_names_no_program_is_the_recipes_fault(target: str) -> None:
    """Nothing but `module:attribute` is ever written into a program."""
    wrong = Distribution(name="calc", version="1", entry_points={"console_scripts": {"calc": target}})

    with pytest.raises(TaskError, match="mend the recipe"):
        script_files(wrong, "/usr/bin/python3")


def test_further_fields_are_written() -> None:
    """What a library tells of itself at run time, such as its summary, is there as an installer would leave it."""
    distribution = Distribution(
        name="demo", version="1.0", headers={"Summary": ("Does it.",), "Project-URL": ("A, a", "B, b")}
    )
    lines = metadata_files(distribution)["demo-1.0.dist-info/METADATA"].splitlines()

    assert lines[-3:] == ["Summary: Does it.", "Project-URL: A, a", "Project-URL: B, b"]
