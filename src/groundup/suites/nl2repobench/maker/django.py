"""Django's settings for a project's tests, which its own commands name and pytest is not told."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from groundup.suites.nl2repobench.maker.project import text_at
from groundup.suites.nl2repobench.recipe import Recipe

_LACKING = re.compile(r"settings are not configured|DJANGO_SETTINGS_MODULE|Apps aren't loaded yet")
_KEY = "DJANGO_SETTINGS_MODULE"
_NAMED = re.compile(rf"(?:{_KEY}['\"]?\s*[,=:]\s*['\"]?|--(?:settings|ds)[= ])([A-Za-z_][\w.]*)")
_NAMING = (
    *("tox.ini", "setup.cfg", "pyproject.toml", "noxfile.py", "Makefile", "runtests.py", "manage.py"),
    *("*/manage.py", "*/runtests.py", "conftest.py", "*/conftest.py", ".github/workflows/*.y*ml"),
)
_USUAL = ("test_settings.py", "settings_test.py", "settings.py", "settings/test.py")
_LARGEST = 256 * 1024


def with_django_settings(recipe: Recipe, printed: str, original: Path) -> Iterator[tuple[Recipe, str]]:
    """Yield the draft with the settings of Django that its tests lack, where the original has such."""
    if not _LACKING.search(printed) or any(line.startswith(_KEY) for line in recipe.tests.ini):
        return
    found = next(_settings(original, recipe), None)
    if found is None:
        return
    module, root = found
    top = module.partition(".")[0]
    place = str(PurePosixPath(root) / (top if (original / root / top).is_dir() else f"{top}.py"))
    tests = recipe.tests
    own = {str(PurePosixPath(base, *name.split("."))) for base in tests.import_roots for name in tests.packages}
    covered = any(PurePosixPath(place).is_relative_to(kept) for kept in tests.protected)
    changed = tests.but(
        ini=(*tests.ini, f"{_KEY} = {module}", "django_find_project = false"),
        import_roots=tests.import_roots if root in tests.import_roots else (*tests.import_roots, root),
        protected=tests.protected if covered or place in own else (*tests.protected, place),
        environment={**tests.environment, _KEY: module},
    )
    wants = recipe.environment.wants
    if not any(line.startswith("pytest-django") for line in wants):
        wants = (*wants, "pytest-django")
    environment = recipe.environment.but(wants=wants, lock={})
    yield recipe.but(tests=changed, environment=environment), f"Django's settings are {module} in {root}"


def _settings(original: Path, recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Yield modules of settings with the folder from which each is imported, those that something names first."""
    roots = [".", *recipe.tests.import_roots, *(str(PurePosixPath(one)) for one in recipe.tests.arguments)]
    roots += [str(path.parent.relative_to(original)) for path in sorted(original.glob("*/manage.py"))]
    for pattern in _NAMING:
        for path in sorted(original.glob(pattern)):
            for module in dict.fromkeys(_NAMED.findall(text_at(path, _LARGEST) or "")):
                for root in roots:
                    if _is_there(original / root, module):
                        yield module, root
    for name in _USUAL:
        for path in sorted(original.rglob(name), key=lambda path: (len(path.parts), path)):
            if "INSTALLED_APPS" in (text_at(path, _LARGEST) or ""):
                inner = PurePosixPath(path.relative_to(original).as_posix()).with_suffix("")
                yield ".".join(inner.parts), "."


def _is_there(folder: Path, module: str) -> bool:
    place = folder.joinpath(*module.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()
