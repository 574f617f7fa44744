"""How a repository says that its service starts."""

from pathlib import Path

import pytest

from groundup.curation.services.starting import pythons_of, requirements_of, starts_of
from tests.curation.services.made import REPOSITORY
from tests.grading.library.laboratory import write_tree

PROGRAM = "from flask import Flask\napp = Flask(__name__)\n"


def commands(root: Path) -> list[tuple[str, ...]]:
    """Return the commands that were found, in their order."""
    return [one.commands for one in starts_of(root)]


def test_a_program_is_executed_on_its_own_port(tmp_path: Path) -> None:
    """What stands under `__main__` may make the database, so it is tried before the application alone."""
    write_tree(tmp_path, REPOSITORY)

    found = starts_of(tmp_path)

    assert (found[0].commands, found[0].port) == (("python app.py",), 5005)
    assert any("flask --app app:app run" in one.commands[-1] for one in found)
    assert found[0].script().endswith("exec python app.py\n")


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("Procfile", "web: gunicorn app:app --bind 0.0.0.0:$PORT\n", "gunicorn app:app --bind 0.0.0.0:8000"),
        ("Dockerfile", 'EXPOSE 7000\nCMD ["flask", "run"]\n', "flask run --host 0.0.0.0 --port 7000"),
        ("Dockerfile", "CMD uvicorn app:app --reload\n", "uvicorn app:app --host 0.0.0.0 --port 8000"),
        (
            "docker-compose.yml",
            "services:\n  web:\n    command: gunicorn app:app\n",
            "gunicorn app:app --bind 0.0.0.0:8000",
        ),
        ("README.md", "    $ flask run\n", "flask run --host 0.0.0.0 --port 8000"),
        ("manage.py", "import sys\n", "python manage.py runserver 0.0.0.0:8000 --noreload"),
    ],
)
def test_what_people_use_is_taken(tmp_path: Path, name: str, text: str, command: str) -> None:
    """A command of a file, with the port as a number and without what restarts it."""
    write_tree(tmp_path, {name: text, "app.py": PROGRAM})

    assert any(command == " ".join(one[-1].split()) for one in commands(tmp_path))


def test_a_script_of_a_container_is_read(tmp_path: Path) -> None:
    """What it does before the server starts is done before."""
    script = "#!/bin/sh\nalembic upgrade head\nexec gunicorn -b :5000 app:app\n"
    write_tree(tmp_path, {"Dockerfile": "CMD ./boot.sh\n", "boot.sh": script, "app.py": PROGRAM})

    assert ("alembic upgrade head", "gunicorn -b :5000 app:app") in commands(tmp_path)


def test_applications_in_packages_and_factories_are_served(tmp_path: Path) -> None:
    """By the server of their framework, which is wanted besides what is declared."""
    factory = "from fastapi import FastAPI\ndef create_app():\n    return FastAPI()\n"
    write_tree(tmp_path, {"svc/__init__.py": "", "svc/main.py": factory})

    (found,) = starts_of(tmp_path)

    assert found.commands[-1].split()[-2:] == ["--factory", "svc.main:create_app"]
    assert found.needs == ("uvicorn",)


def test_requirements_are_of_a_file_or_of_the_project(tmp_path: Path) -> None:
    """The first file that declares any; nothing at all is None."""
    assert requirements_of(tmp_path) is None
    write_tree(tmp_path, {"pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["flask>=3"]\n'})
    assert requirements_of(tmp_path) == ("flask>=3",)
    write_tree(tmp_path, {"requirements/prod.txt": "fastapi\n"})
    assert requirements_of(tmp_path) == ("fastapi",)


def test_a_newer_python_is_taken_where_the_usual_one_is_too_old(tmp_path: Path) -> None:
    """Else the usual one comes first, and what files name behind it."""
    write_tree(tmp_path, {"Dockerfile": "FROM python:3.9-slim\n"})
    assert pythons_of(tmp_path, "3.10") == ("3.10", "3.9")
    write_tree(tmp_path, {"pyproject.toml": '[project]\nrequires-python = ">=3.12"\n'})
    assert pythons_of(tmp_path, "3.10")[0] == "3.12"


def test_a_start_script_is_taken_as_it_is(tmp_path: Path) -> None:
    """One that called itself would never end."""
    write_tree(tmp_path, {"start.sh": "exec python app.py\n", "app.py": PROGRAM})

    assert (starts_of(tmp_path)[0].found, starts_of(tmp_path)[0].commands) == ("start.sh", ())


def test_tables_are_made_where_no_source_makes_them(tmp_path: Path) -> None:
    """By Flask-SQLAlchemy in the application's context, or by the migrations that are there."""
    text = f"{PROGRAM}db = SQLAlchemy(app)\n"
    write_tree(tmp_path / "plain", {"app.py": text})
    write_tree(tmp_path / "migrated", {"app.py": text, "migrations/env.py": ""})
    write_tree(tmp_path / "itself", {"app.py": f"{text}db.create_all()\n"})

    plain, migrated, itself = (commands(tmp_path / one)[0] for one in ("plain", "migrated", "itself"))

    assert "d.create_all()" in plain[0]
    assert plain[-1].startswith("python -m flask --app app:app run")
    assert migrated[0] == "python -m flask --app app:app db upgrade"
    assert len(itself) == 1


def test_requirements_stand_in_a_pipfile_or_in_imports(tmp_path: Path) -> None:
    """Where nothing declares them, what the sources import of well-known packages is needed."""
    write_tree(tmp_path / "piped", {"Pipfile": '[packages]\nflask = "*"\npyjwt = {version = "==2.6.0"}\n'})
    source = "import os\nimport helper\nfrom flask_cors import CORS\nfrom flask import Flask\nimport yaml\n"
    write_tree(tmp_path / "bare", {"app.py": source, "helper.py": ""})

    assert requirements_of(tmp_path / "piped") == ("flask", "pyjwt==2.6.0")
    assert requirements_of(tmp_path / "bare") == ("flask", "flask-cors", "pyyaml")
