"""The line that kept a submission from being used stands with the reason."""

from pathlib import Path

import pytest

from groundup.domain.verdicts import Reason, Stage
from groundup.grading.submitted_sources import Sources
from groundup_origins.reasons import with_place
from tests.groundup_origins.test_probable import LIBRARY


def test_an_install_that_failed_and_another_port_name_their_lines() -> None:
    """The requirement that nobody has, and the number of the port; other reasons stay as they are."""
    sources = Sources({
        "requirements.txt": "flask\ntide-engine==4.1\n",
        "app.py": "app = Flask(__name__)\n# port 8181\napp.run(port=8181)\n",
    })  # fmt: skip
    said = [
        "resolving flask, tide-engine==4.1: Because tide-engine was not found in the package registry, it fails",
        "port 8080 did not answer HTTP: it listens on 0.0.0.0:8181; last words: x",
        "the README's health path /health answered 404",
    ]
    told = [with_place(Reason(stage=Stage.START, message=one), sources).message for one in said]
    assert told == [
        f"{said[0]}; probably requirements.txt:2: tide-engine==4.1",
        f"{said[1]}; probably app.py:3: app.run(port=8181)",
        said[2],
    ]


@pytest.mark.parametrize(
    ("files", "said", "told"),
    [
        (
            {"requirements.txt": "fastapi\n"},
            "last words: No module named 'jwt.api'",
            "; requirements.txt does not declare jwt",
        ),
        (
            {"requirements.txt": "fastapi\n"},
            'You can install "python-multipart" with: | pip install python-multipart',
            "; requirements.txt does not declare python-multipart",
        ),
        ({"requirements.txt": ""}, "No module named 'flask'", "; requirements.txt does not declare flask"),
        ({"requirements.txt": "Python_Multipart>=1\n"}, "| pip install python-multipart", ""),
        ({"requirements.txt": "fastapi\n", "api/pyproject.toml": "x"}, "No module named 'jwt'", ""),
        ({"requirements.txt": "fastapi\n", "api/store.py": "x"}, "No module named 'store'", ""),
        ({"requirements.txt": "fastapi\n"}, "ended with exit code 1", ""),
    ],
)
def test_a_package_that_a_service_lacks_as_it_starts_is_named_where_it_is_not_declared(
    files: dict[str, str], said: str, told: str
) -> None:
    """Unless it is declared in another spelling, or its own, or several files could declare it."""
    reason = Reason(stage=Stage.START, message=f"port 1 did not answer HTTP; {said}")
    assert with_place(reason, Sources(files)).message == reason.message + told
    assert with_place(reason.but(stage=Stage.INSTALL), Sources(files)).message == reason.message


def test_a_port_in_a_script_and_a_version_below_its_name_are_found(tmp_path: Path) -> None:
    """Scripts say where a service answers, too; a version that Maven misses has its own line."""
    (tmp_path / "start.sh").write_text("#!/bin/sh\nexec serve --port 8181\n")
    (tmp_path / "pom.xml").write_text("<parent>\n<artifactId>tide-parent</artifactId>\n<version>9.9</version>\n")
    sources = Sources.of(tmp_path, {".sh", "pom.xml"})
    said = [
        "port 8080 did not answer HTTP: it listens on 0.0.0.0:8181",
        "Could not find artifact a.b:tide-parent:pom:9.9",
    ]
    told = [with_place(Reason(stage=Stage.START, message=one), sources).message for one in said]
    assert [one.partition("; probably ")[2] for one in told] == [
        "start.sh:2: exec serve --port 8181",
        "pom.xml:3: <version>9.9</version>",
    ]


def test_a_package_that_lacks_a_name_of_its_own_leads_to_the_one_like_it() -> None:
    """Nothing can be imported then, so no test tells it."""
    said = "boats cannot be imported: AttributeError: module 'boats.hull' has no attribute 'moor_quickly'"
    told = with_place(Reason(stage=Stage.IMPORT, message=said), LIBRARY).message
    assert told == f"{said}; probably boats/hull.py:16: def moor_quick(boat):"


def test_a_place_is_told_in_full_however_long_the_reason_is() -> None:
    """A reason holds 400 characters, so its own words are cut."""
    sources = Sources({"requirements.txt": "tide-engine==4.1\n"})
    long = "Because tide-engine was not found" + " and so on" * 36
    told = with_place(Reason(stage=Stage.INSTALL, message=long), sources).message
    assert len(told) <= 400
    assert told.endswith("; probably requirements.txt:1: tide-engine==4.1")
