"""Python: pip's manifests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundup.languages.record import LanguageRecord
from groundup.languages.spelling import python_name

if TYPE_CHECKING:
    from groundup.manifests.sections import ManifestFormat


def _formats() -> "Sequence[ManifestFormat]":
    from groundup.languages.python.environment_yml import EnvironmentYml
    from groundup.languages.python.poetry import Pipfile
    from groundup.languages.python.pyproject import Pyproject
    from groundup.languages.python.requirement import RequirementsTxt
    from groundup.languages.python.setup_cfg import SetupCfg
    from groundup.languages.python.setup_py import SetupPy

    return (
        Pyproject(),
        SetupCfg(),
        SetupPy(),
        RequirementsTxt(),
        Pipfile(),
        EnvironmentYml(),
    )


LANGUAGE = LanguageRecord(
    name="Python",
    suffixes=(".py", ".pyi", ".pyw", ".ipynb"),
    registry="pypi",
    installer="pip",
    lock_files=(
        "poetry.lock",
        "uv.lock",
        "pdm.lock",
        "Pipfile.lock",
        "pylock.toml",
        "pylock.*.toml",
        "pixi.lock",
        "conda-lock.yml",
        "requirements*.lock",
        "*.egg-info/requires.txt",
    ),
    telltales=("tox.ini", "noxfile.py", "tasks.py", "meta.yaml", "*.spec", "pixi.toml"),
    sdk="Python",
    version_keys=("python", "py", "version"),
    imports="(import_statement) @statement (import_from_statement) @statement",
    programs="python3?|pip3?|pipx|tox|nox|poetry|pdm|hatch|uv|uvx|pytest|pipenv",
    setup_actions=r"setup-(?:python|uv|pdm|cached-uv|miniconda|micromamba)|deadsnakes/action",
    setup_inputs=("python-version",),
    canonical=python_name,
    formats=_formats,
    also_read=(".pyx", ".pxd"),
    test_pattern=r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(",
)
