"""Task folders made by hand, and the published ones where they are at hand."""

from pathlib import Path

from groundup import settings
from groundup.suites.places import data_folder
from groundup.suites.repogenesis.tasks import TaskFolders, read_dataset
from tests.needs import lack

OWN_TASK = """\
format = 1
id = "greeter"
language = "python"
port = 8090
kind = "http"
health = "/health"
endpoints = ["GET /health", "GET /greetings/{name}"]
[tests]
count = 1
requirements = ["requests"]
"""


def make_task(root: Path, name: str = "greeter", record: str | None = OWN_TASK) -> Path:
    """Write a task's folder below *root*."""
    folder = root / name
    (folder / "tests").mkdir(parents=True)
    (folder / "README.md").write_text("# Greeter\n\nIt listens on port 8090.\n\n- `GET /greetings/{name}`\n")
    (folder / "tests" / "test_greeter.py").write_text("def test_nothing():\n    pass\n")
    if record is not None:
        (folder / "task.toml").write_text(record)
    return folder


def published() -> TaskFolders:
    """Return the published data, or skip the test."""
    folder = data_folder("repogenesis", settings.load())
    if folder is None:
        lack("data of repogenesis", "it is not at hand; run `groundup data pull repogenesis`")
    return read_dataset(folder)
