"""What tests need is read from every place in which projects write it down."""

from pathlib import Path

import pytest

from groundup_factory.recipes.needs_of_tests import imported_by_tests, needs_of_tests
from tests.grading.library.laboratory import write_tree

USES = "import os, redis\nimport pytest\nyaml = pytest.importorskip('yaml')\nfrom . import helper\n"


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": '[dependency-groups]\ntest = ["httpx>=0.2"]\ndev = ["redis>4", "z3c"]\n'},
        {"pyproject.toml": '[project.optional-dependencies]\ntesting = ["httpx>=0.2"]\nall = ["redis>4"]\n'},
        {
            "pyproject.toml": '[tool.poetry.group.test.dependencies]\nhttpx = ">=0.2"\n'
            '[tool.poetry.dev-dependencies]\nredis = ">4"\nblack = "*"\n'
        },
        {"setup.cfg": "[options.extras_require]\ntests =\n    httpx>=0.2\nfast =\n    redis>4\n    cython\n"},
        {"setup.py": 'setup(name="a", extras_require={"test": ["httpx>=0.2"], "x": ["redis>4", "z3c"]})\n'},
        {"requirements/tests.txt": "httpx>=0.2\n", "requirements/dev.txt": "-r tests.txt\nredis>4\nwheel\n"},
        {
            "tox.ini": "[testenv]\ndeps =\n  httpx>=0.2\n  py38: -rmore.txt\n[testenv:lint]\ndeps = lint-b\n",
            "more.txt": "redis>4  # a store\n",
        },
        {
            ".github/workflows/a.yml": "jobs:\n  t:\n    steps:\n      - run: pip install 'redis>4' flake9 && x\n",
            "test-requirements.txt": "httpx>=0.2\n",
        },
        {
            "noxfile.py": "def t(session): session.install('redis>4', 'twine')\n",
            "tests.pip": "",
            "tox.ini": "[testenv]\ndeps = httpx>=0.2\n",
        },
        {
            "PKG-INFO": "Name: a\nRequires-Dist: httpx>=0.2; extra == 'test'\n"
            "Requires-Dist: redis>4; python_version > '3' and extra == \"x\"\nRequires-Dist: six; extra == 'y'\n"
        },
    ],
)
def test_the_needs_of_tests_are_found(tmp_path: Path, files: dict[str, str]) -> None:
    """What is for tests is taken whole; of what is for developers, what tests import."""
    write_tree(tmp_path, {**files, "tests/test_a.py": USES})

    found = needs_of_tests(tmp_path, ("tests",))

    assert {"httpx>=0.2", "redis>4"} <= {line.partition(";")[0].replace(" ", "") for line in found}
    assert {line.partition(">")[0] for line in found} <= {"httpx", "redis", "lint-a"}


def test_plugins_of_pytest_count_wherever_they_stand(tmp_path: Path) -> None:
    """No test imports them."""
    write_tree(tmp_path, {"requirements-dev.txt": "pytest-mock\nmypy\n", "tests/test_a.py": ""})

    assert needs_of_tests(tmp_path, ("tests",)) == ("pytest-mock",)


def test_what_tests_import_is_seen_wherever_it_stands(tmp_path: Path) -> None:
    """Standard modules and neighbours are nobody's; what is skipped without counts."""
    write_tree(tmp_path, {"tests/test_a.py": USES, "tests/helper.py": "def f():\n    import attr.setters\n"})

    assert imported_by_tests(tmp_path, ["tests"]) == {"redis", "pytest", "yaml", "attr.setters"}


def test_files_that_name_files_are_followed_so_far(tmp_path: Path) -> None:
    """Three files behind the first one are read, and one that names itself ends."""
    chain = {f"{number}.txt": f"-r {number + 1}.txt\nneed-{number}\n" for number in range(6)}
    circle = {"circle.txt": "-r circle.txt\nround\n"}
    write_tree(
        tmp_path, {**chain, **circle, "tox.ini": "[testenv]\ndeps = -r0.txt\n  -rcircle.txt\n", "tests/a.py": ""}
    )

    found = set(needs_of_tests(tmp_path, ("tests",)))

    assert found == {"round", *(f"need-{number}" for number in range(4))}
