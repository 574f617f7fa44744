"""Changes of a service's sources."""

import ast
from pathlib import Path

from groundup_factory.services.proving import KINDS, mutants_of
from tests.grading.library.laboratory import write_tree
from tests.groundup_factory.services.made import APP, REPOSITORY

ROUTES = [("GET", "/notes/{}"), ("POST", "/notes")]


def test_each_kind_is_made_in_the_handlers_that_are_wanted(tmp_path: Path) -> None:
    """Every mutant is another text of the file that can be read, and the kinds take turns."""
    write_tree(tmp_path, REPOSITORY)

    found = mutants_of(tmp_path, ROUTES, 10)

    assert len(found) == 10
    assert {one.kind for one in found} == set(KINDS)
    assert {one.kind for one in found[: len(KINDS)]} == set(KINDS)
    for one in found:
        assert one.text != APP
        ast.parse(one.text)
    assert found == mutants_of(tmp_path, ROUTES, 10)


def test_other_handlers_stay_as_they_are(tmp_path: Path) -> None:
    """What no test asks for would not be noticed."""
    write_tree(tmp_path, REPOSITORY)

    lines = {one.line for one in mutants_of(tmp_path, [("GET", "/health")], 99)}

    first = APP.splitlines().index('@app.route("/health")') + 1
    assert lines
    assert lines <= {first, first + 1, first + 2}


def test_a_change_concerns_the_route_of_its_handler(tmp_path: Path) -> None:
    """So only tests that ask for that one are run."""
    write_tree(tmp_path, REPOSITORY)

    (first, *_) = mutants_of(tmp_path, [("GET", "/notes/{}")], 1)

    assert first.concerns("GET", "/notes/{number}")
    assert not first.concerns("DELETE", "/notes/{number}")
    assert not first.concerns("GET", "/notes")


def test_another_program_is_not_changed(tmp_path: Path) -> None:
    """Of two with the same routes, only the one that is started would notice."""
    write_tree(tmp_path, {**REPOSITORY, "older.py": APP})

    found = mutants_of(tmp_path, ROUTES, 99, frozenset({"app.py"}))

    assert {one.file for one in found} == {"app.py"}
