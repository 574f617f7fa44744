"""How Poetry, which has no setting for it, asks a gateway instead of the public index: by a plugin of ours.

Poetry finds plugins among the packages that it is installed with, so one is laid there before it comes. It does
nothing without its variable, and only to Poetry.
"""

import io
import zipfile
from functools import cache
from pathlib import Path

VARIABLE = "POETRY_PYPI_MIRROR_URL"
_NAME = "groundup_poetry_index"
_PLUGIN = f'''"""Lets Poetry ask the index that {VARIABLE} names; lock files stay as if it were the public one."""

import os

from poetry.plugins.plugin import Plugin
from poetry.repositories.legacy_repository import LegacyRepository
from poetry.repositories.pypi_repository import PyPiRepository


def plain(package):
    package._source_type = package._source_url = package._source_reference = None
    return package


class Index(LegacyRepository):
    def package(self, *arguments, **options):
        return plain(super().package(*arguments, **options))

    def _find_packages(self, *arguments, **options):
        return [plain(package) for package in super()._find_packages(*arguments, **options)]


class IndexPlugin(Plugin):
    def activate(self, poetry, io):
        url, pool = os.environ.get("{VARIABLE}"), poetry.pool
        if not url or not pool.has_repository("PyPI"):
            return
        if isinstance(pool.repository("PyPI"), PyPiRepository):
            priority = pool.get_priority("PyPI")
            pool.remove_repository("PyPI")
            pool.add_repository(Index("PyPI", url.rstrip("/"), config=poetry.config), priority=priority)
'''
POETRY_PLUGIN = {
    f"{_NAME}.py": _PLUGIN,
    f"{_NAME}-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: 1\n",
    f"{_NAME}-1.dist-info/entry_points.txt": f"[poetry.plugin]\n{_NAME} = {_NAME}:IndexPlugin\n",
    f"{_NAME}-1.dist-info/INSTALLER": "groundup\n",
    f"{_NAME}-1.dist-info/RECORD": "",
}
"""The plugin's files by their places below a folder of packages."""


_ARCHIVE = "lib/poetry-index.zip"
_PTH = (
    'import sys; sys.path += ["{archive}"] * any(word.rpartition(b"/")[2] == b"poetry" '
    'for word in open("/proc/self/cmdline", "rb").read().split(bytes(1))[1:3])\n'
)
"""Python executes it at each start. The plugin lies beside the packages so that `pip freeze` does not name it."""


@cache
def _archived() -> bytes:
    """Return the plugin as one file: each episode gets it, and files cost more than bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in POETRY_PLUGIN.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def lend_poetry_plugin(prefix: Path, inside: str) -> str:
    """Write the plugin into the virtual environment *prefix*, seen at *inside*, so that only Poetry finds it.

    Returns the line that a `.pth` file among its packages needs for that.
    """
    (prefix / _ARCHIVE).write_bytes(_archived())
    return _PTH.format(archive=f"{inside}/{_ARCHIVE}")


def lay_poetry_plugin(packages: Path) -> None:
    """Write the plugin into a folder of packages into which Poetry may be installed."""
    for name, text in POETRY_PLUGIN.items():
        place = packages / name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)  # a file of that name may be one of a layer's
        place.write_text(text, encoding="utf-8")
