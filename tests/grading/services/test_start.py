"""The search for a start command."""

from pathlib import Path

import pytest

from groundup.grading.services.install import find_start, words_of
from tests.grading.library.laboratory import write_tree


@pytest.mark.parametrize(
    ("files", "found", "says"),
    [
        (["start.sh", "scripts/start.sh", "app.py"], "start.sh", "bash ./start.sh"),
        (["bin/start.sh", "scripts/start.sh"], "scripts/start.sh", "bash ./scripts/start.sh"),
        (["deploy/start.sh", "a/b/start.sh", "app.py"], "deploy/start.sh", "bash ./deploy/start.sh"),
        (["z/start.sh", "deploy/start.sh"], "deploy/start.sh", "bash ./deploy/start.sh"),
        (["a/b/start.sh", "app.py"], "a/b/start.sh", "bash ./a/b/start.sh"),
        (["a/b/c/start.sh", "app.py"], "app.py", "python app.py"),
        (["server.py", "manage.py"], "manage.py", "python manage.py runserver 0.0.0.0:8080"),
        (["run.py", "main.py"], "main.py", "python main.py"),
        (["api.py"], "uvicorn", "sh -c for module in api; do "),
        (["app/__init__.py", "api/x"], "uvicorn", "sh -c for module in app api; do "),
    ],
)
def test_the_published_order_is_kept(files: list[str], found: str, says: str, tmp_path: Path) -> None:
    """start.sh in its places first, then programs, then modules to guess."""
    start = find_start(write_tree(tmp_path, dict.fromkeys(files, "")), 8080)

    assert start is not None
    assert start.found == found
    assert " ".join(start.argv).startswith(says)
    assert ("--port 8080" in start.argv[-1]) is (found == "uvicorn")


def test_nothing_to_start_is_reported(tmp_path: Path) -> None:
    """A tree without any of them has no start command."""
    assert find_start(write_tree(tmp_path, {"README.md": ""}), 8080) is None


def test_a_link_is_no_start_script(tmp_path: Path) -> None:
    """What lies outside of the submission is not started."""
    (tmp_path / "start.sh").symlink_to("/bin/true")

    assert find_start(tmp_path, 8080) is None


@pytest.mark.parametrize(
    ("script", "installs"),
    [
        ("pip install -r requirements.txt", True),
        ("python -m venv .venv", True),
        ("exec uv run app.py", True),
        ("python pipeline.py", False),
        ("exec gunicorn app:app", False),
    ],
)
def test_scripts_that_install_are_known(script: str, installs: bool, tmp_path: Path) -> None:
    """Only those get a copy of the environment and a way to the package index."""
    start = find_start(write_tree(tmp_path, {"start.sh": script}), 8080)

    assert start is not None
    assert start.installs is installs


@pytest.mark.parametrize(
    ("files", "installs"),
    [
        ({"start.sh": "bash deploy/prepare.sh && python app.py", "deploy/prepare.sh": "pip install flask"}, True),
        (
            {"start.sh": "python boot.py", "boot.py": "run([sys.executable, '-m', 'pip', 'install', 'flask'])"},
            True,
        ),
        ({"app.py": "os.system('pip install -r requirements.txt')"}, True),
        ({"app.py": "import pipeline\nfrom flask import Flask"}, False),
        ({"start.sh": "python app.py", "tools/a/b/prepare.sh": "pip install flask"}, False),
    ],
)
def test_what_a_start_calls_may_install(files: dict[str, str], installs: bool, tmp_path: Path) -> None:
    """Other scripts and programs that are near get the package index as well."""
    start = find_start(write_tree(tmp_path, files), 8080)

    assert start is not None
    assert start.installs is installs


def test_django_is_started_on_the_port(tmp_path: Path) -> None:
    """manage.py needs an address to listen on."""
    start = find_start(write_tree(tmp_path, {"manage.py": ""}), 8123)

    assert start is not None
    assert start.argv == ("python", "manage.py", "runserver", "0.0.0.0:8123")


def test_words_are_those_of_sources(tmp_path: Path) -> None:
    """Only what lies inside counts, whatever bytes are in it."""
    write_tree(
        tmp_path, {"app.py": "import flask.views as v9\n\0", "deploy/start.sh": "gunicorn", "README.md": "no"}
    )
    (tmp_path / "link.py").symlink_to(__file__)
    (tmp_path / "raw.py").write_bytes(b"\xff caf\xe9")
    assert words_of(tmp_path) == ("as", "caf", "flask.views", "gunicorn", "import", "v9")


def test_links_that_stay_inside_are_what_they_lead_to(tmp_path: Path) -> None:
    """As in the published copy, which makes files of them: a start script, one below, and a program."""
    for name in ("start.sh", "bin/start.sh", "app.py"):
        tree = write_tree(tmp_path / name.replace("/", "-"), {"deploy/run.py": "pip install flask"})
        place = tree / name
        place.parent.mkdir(exist_ok=True)
        place.symlink_to("../deploy/run.py" if "/" in name else "deploy/run.py")
        start = find_start(tree, 8080)
        assert start is not None
        assert start.found == name


def test_a_link_in_a_circle_is_no_file(tmp_path: Path) -> None:
    """It leads nowhere, and nothing fails."""
    (tmp_path / "start.sh").symlink_to("start.sh")

    assert find_start(tmp_path, 8080) is None
