"""Time masking a repository of many files: `python benchmarks/masking.py [--files 10000] [--language python]`.

Makes a repository of source files in nested folders with one manifest of every kind in each tenth folder, masks a
copy and then the repository in place, and prints seconds. Give a PATH to measure a repository of your own.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import cast

from groundup.languages.masking import mask_repository
from groundup.manifests.records import Language

SOURCE = "import requests\n\nprint(requests.get('https://example.org'))\n" * 40
NAMES = ("requests", "click", "numpy", "pandas", "pyyaml", "attrs", "rich", "httpx", "pydantic", "sqlalchemy")


def listed(form: str, joint: str = "") -> str:
    """Return all names, each written as *form* has it."""
    return joint.join(form.format(name) for name in NAMES)


MANIFESTS = {
    "pyproject.toml": '[project]\nname = "x"\ndependencies = [\n' + listed('    "{}>=1",\n') + "]\n",
    "setup.py": "from setuptools import setup\nsetup(name='x', install_requires=[" + listed("'{}'", ", ") + "])\n",
    "setup.cfg": "[options]\ninstall_requires =\n" + listed("    {}>=1\n"),
    "requirements.txt": listed("{}>=1  # needed\n"),
    "poetry.lock": listed('[[package]]\nname = "{}"\nversion = "1"\n\n'),
    "Cargo.toml": '[package]\nname = "x"\n[dependencies]\n' + listed('{} = "1"\n'),
    "package.json": '{"name": "x", "dependencies": {' + listed('"{}": "^1"', ", ") + "}}\n",
    "x.csproj": "<Project><ItemGroup>" + listed('<PackageReference Include="{}" />') + "</ItemGroup></Project>\n",
    "Makefile": "install:\n\tpip install requests\n",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--language", choices=("python", "rust", "javascript", "csharp"))
    arguments = parser.parse_args()
    language = cast("Language | None", arguments.language)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "repository")
        if arguments.path:
            shutil.copytree(arguments.path, root, symlinks=True)
        else:
            make(root, arguments.files)
        files = sum(1 for item in root.rglob("*") if item.is_file())
        start = time.perf_counter()
        report = mask_repository(root, Path(folder, "copy"), language)
        copied = time.perf_counter() - start
        start = time.perf_counter()
        mask_repository(root, None, language)
        in_place = time.perf_counter() - start
    declared = sum(len(item.dependencies) for item in report.masked)
    print(f"{files} files: {len(report.masked)} manifests with {declared} declarations masked,")
    print(f"{len(report.removed)} lock files removed, {len(report.refused)} refused")
    print(f"with a copy {copied:.2f} s, in place {in_place:.2f} s")


def make(root: Path, files: int) -> None:
    """Write *files* files, 40 to a folder."""
    written = 0
    for number in range(files):
        folder = root / f"part{number % 16}" / f"module{number}"
        folder.mkdir(parents=True)
        texts = {f"file{i}.py": SOURCE for i in range(40)} | (MANIFESTS if number % 10 == 0 else {})
        for name, text in texts.items():
            if written == files:
                return
            (folder / name).write_text(text, encoding="utf-8")
            written += 1


if __name__ == "__main__":
    main()
