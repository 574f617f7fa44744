"""How a repository says that its service starts."""

from pathlib import Path

import pytest

from groundup_factory.services.references import environments_of, files_of
from groundup_factory.services.starting import pythons_of, requirements_of, starts_of
from tests.grading.library.laboratory import write_tree
from tests.groundup_factory.services.made import REPOSITORY

PROGRAM = "from flask import Flask\napp = Flask(__name__)\n"


def commands(root: Path) -> list[tuple[str, ...]]:
    """Return the commands that were found, in their order."""
    return [one.commands for one in starts_of(root)]


def test_a_program_is_executed_on_its_own_port(tmp_path: Path) -> None:
    """What stands under `__main__` may make the database, so it is tried before the application alone."""
    write_tree(tmp_path, REPOSITORY)

    found = starts_of(tmp_path)

    assert (found[0].commands, found[0].port) == (("python app.py",), 5005)
    assert any("FLASK_APP=app:app python -m flask run" in one.commands[-1] for one in found)
    assert found[0].script().endswith("exec python app.py\n")


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("Procfile", "web: gunicorn app:app --bind 0.0.0.0:$PORT\n", "gunicorn app:app --bind 0.0.0.0:8000"),
        ("Dockerfile", 'EXPOSE 7000\nCMD ["flask", "run"]\n', "flask run --host 0.0.0.0 --port 7000"),
        (
            "Dockerfile",
            'CMD ["celery", "worker"]\nCMD ["app:app"]\nENTRYPOINT ["gunicorn", "-b", ":7000"]\n',
            "gunicorn -b :7000 app:app",
        ),
        ("Dockerfile", "CMD uvicorn app:app --reload\n", "uvicorn app:app --host 0.0.0.0 --port 8000"),
        (
            "docker-compose.yml",
            "services:\n  web:\n    command: gunicorn app:app\n",
            "gunicorn app:app --bind 0.0.0.0:8000",
        ),
        (
            "docker-compose.yml",
            'services:\n  web:\n    command: bash -c "flask db upgrade && gunicorn app:app"\n',
            "gunicorn app:app --bind 0.0.0.0:8000",
        ),
        (
            "docker-compose.yml",
            "services:\n  web:\n    command: 'gunicorn app:app'\n",
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


@pytest.mark.parametrize(
    "files",
    [
        {"docker-compose.yml": 'services:\n  web:\n    command: bash -c "flask db upgrade &&\n      flask run"\n'},
        {"Dockerfile": "CMD ./boot.sh\n", "boot.sh": 'gunicorn app:app --name "it\n'},
        {"table.py": "WHOLE = " + "-" * 40_000 + "1\n"},
    ],
    ids=["a command over lines", "a quote that nothing closes", "a source that nobody can read"],
)
def test_what_cannot_be_read_hides_nothing_else(tmp_path: Path, files: dict[str, str]) -> None:
    """The application is found all the same, and what the sources read and import."""
    write_tree(tmp_path, {**files, "app.py": PROGRAM})

    assert any("FLASK_APP=app:app" in one[-1] for one in commands(tmp_path))
    assert requirements_of(tmp_path) == ("flask",)
    assert files_of(tmp_path, ["python app.py"]) == {"app.py"}


def test_a_command_may_set_variables(tmp_path: Path) -> None:
    """As a shell runs it: `exec` would look for a program of that name."""
    write_tree(tmp_path, {"Procfile": "web: FLASK_APP=main.py flask run\n", "main.py": PROGRAM})

    (found,) = [one for one in starts_of(tmp_path) if one.found == "Procfile"]

    assert found.script().endswith("\nexec env FLASK_APP=main.py flask run --host 0.0.0.0 --port 8000\n")


def test_a_script_of_a_container_is_read(tmp_path: Path) -> None:
    """What it does before the server starts is done before."""
    script = "#!/bin/sh\nalembic upgrade head\nexec gunicorn -b :5000 app:app\n"
    write_tree(tmp_path, {"Dockerfile": "CMD ./boot.sh\n", "boot.sh": script, "app.py": PROGRAM})

    assert ("alembic upgrade head", "gunicorn -b :5000 app:app") in commands(tmp_path)


def test_what_prepares_itself_is_not_prepared_before(tmp_path: Path) -> None:
    """Migrations go before starts of one command alone."""
    before = "alembic upgrade head"
    script = f"#!/bin/sh\n{before}\nexec gunicorn -b :5000 app:app\n"
    write_tree(
        tmp_path, {"Dockerfile": "CMD ./boot.sh\n", "boot.sh": script, "alembic.ini": "", "app.py": PROGRAM}
    )
    found = commands(tmp_path)
    assert (before, "gunicorn -b :5000 app:app") in found
    assert any(one[0] == before and "flask run" in one[-1] for one in found)
    assert all(one.count(before) <= 1 for one in found)


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
    migrating = f"from flask_migrate import Migrate\n{text}"
    write_tree(tmp_path / "migrated", {"app.py": migrating, "migrations/env.py": ""})
    write_tree(tmp_path / "itself", {"app.py": f"{text}db.create_all()\n"})

    plain, migrated, itself = (commands(tmp_path / one)[0] for one in ("plain", "migrated", "itself"))

    assert "d.create_all()" in plain[0]
    assert plain[-1].startswith("env FLASK_APP=app:app python -m flask run")
    assert migrated[0] == "env FLASK_APP=app:app python -m flask db upgrade"
    assert len(itself) == 1


def test_requirements_stand_in_a_pipfile_or_in_imports(tmp_path: Path) -> None:
    """Where nothing declares them, what the sources import of well-known packages is needed."""
    write_tree(tmp_path / "piped", {"Pipfile": '[packages]\nflask = "*"\npyjwt = {version = "==2.6.0"}\n'})
    source = "import os\nimport helper\nfrom flask_cors import CORS\nfrom flask import Flask\nimport yaml\n"
    write_tree(tmp_path / "bare", {"app.py": source, "helper.py": ""})

    assert requirements_of(tmp_path / "piped") == ("flask", "pyjwt==2.6.0")
    assert requirements_of(tmp_path / "bare") == ("flask", "flask-cors", "pyyaml")


def test_a_port_that_only_root_may_open_is_another_one(tmp_path: Path) -> None:
    """A container's port 80 is no port of a sandbox."""
    write_tree(tmp_path, {"Dockerfile": 'CMD ["gunicorn", "-b", "0.0.0.0:80", "app:app"]\n', "app.py": PROGRAM})

    assert ("gunicorn -b 0.0.0.0:8000 app:app",) in commands(tmp_path)


def test_what_a_readme_has_people_do_first_comes_first(tmp_path: Path) -> None:
    """Where a command of the application makes its tables; what is no server starts nothing."""
    own = "import click\n@click.command('init-db')\ndef init_db():\n    db.create_all()\n"
    write_tree(tmp_path, {"app.py": PROGRAM, "db.py": own, "README.md": "    flask init-db\n    flask run\n"})

    found = commands(tmp_path)

    assert found[0][0] == "env FLASK_APP=app:app python -m flask init-db"
    assert not any("init-db" in one[-1] for one in found)


def test_variables_without_a_default_are_set(tmp_path: Path) -> None:
    """A database is one in a file, a secret is none, an example is taken, and a default stays."""
    text = (
        "import os\nfrom decouple import config\n"
        "A = os.environ['DATABASE_URL']\nB = os.getenv('CACHE', 'none')\nC = config('secret')\n"
        "D = os.getenv('REPORTS_URI', 'postgresql://me@localhost/x')\nE = os.environ.get('COLOUR')\n"
        "F = os.environ.get('MAIL') or 'x'\nG = os.environ['PLACE']\n"
    )
    write_tree(tmp_path, {"app.py": text + PROGRAM, ".env.example": "COLOUR=blue\nPLACE=<yours>\n"})

    found = starts_of(tmp_path)[0]

    assert set(found.variables) == {"DATABASE_URL", "secret", "REPORTS_URI", "COLOUR"}
    assert found.variables["DATABASE_URL"].startswith("sqlite:////tmp/")
    assert found.variables["COLOUR"] == "blue"
    assert "\nexport COLOUR=blue\n" in found.script()


def test_an_asynchronous_database_wants_its_driver(tmp_path: Path) -> None:
    """It is installed besides what is declared."""
    text = "import os\ncreate_async_engine(os.environ['DB_URL'])\n"
    write_tree(tmp_path, {"app.py": PROGRAM, "db.py": text})

    found = starts_of(tmp_path)[0]

    assert found.variables["DB_URL"].startswith("sqlite+aiosqlite:")
    assert "aiosqlite" in found.needs


def test_a_program_is_what_it_imports(tmp_path: Path) -> None:
    """Not the other programs beside it; what is started otherwise is not clear."""
    files = {
        "one/app.py": "from views import things\nfrom .models import a\n",
        "one/views/__init__.py": "",
        "one/views/things.py": "from ..models import a\n",
        "one/models.py": "",
        "two/app.py": "",
    }
    write_tree(tmp_path, files)

    every = frozenset(files) - {"two/app.py"}
    assert files_of(tmp_path, ("python one/app.py",)) == every
    assert files_of(tmp_path, ("cd one", "uvicorn --port 8000 app:app")) == every
    assert files_of(tmp_path, ("./run.sh",)) == frozenset()


def test_old_packages_are_those_that_an_interpreter_knows(tmp_path: Path) -> None:
    """After the day of the commit comes a day some months after the interpreter's release, then today."""
    write_tree(tmp_path, {"requirements.txt": "flask==1.0\n"})

    days = [(one.requirements, one.cutoff) for one in environments_of(tmp_path, "2018-05-01T00:00:00Z")]

    assert days[:3] == [
        (("flask==1.0",), "2019-03-01T00:00:00Z"),
        (("flask==1.0",), "2022-02-01T00:00:00Z"),
        (("flask==1.0",), None),
    ]
    assert (("flask",), "2022-02-01T00:00:00Z") in days
