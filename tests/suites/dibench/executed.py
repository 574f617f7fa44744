"""Tiny instances that can be executed: one for each language and layout, with nothing to be fetched from anywhere.

Dependencies are other folders of the same repository, so that a job installs them without a registry.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.suites.dibench.made import Files, diff, write_tree

CI = ".github/workflows/ci.yml"


class Tiny(NamedTuple):
    """A repository in its masked form, and its original build files."""

    language: str
    masked: Files
    original: Files
    workflow: str
    act_command: str = "act -j test -W '.github/workflows/ci.yml'"

    def files(self) -> dict[str, str]:
        """Return the masked repository."""
        return {**self.masked, CI: self.workflow}


def workflow(setup: str, *steps: str, head: str = "") -> str:
    """Return a workflow with one job."""
    lines = "".join(f"      - {step}\n" for step in steps)
    return (
        f"name: CI\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n{head}    steps:\n"
        f"      - uses: actions/checkout@v4\n{setup}{lines}"
    )


_PYTHON = "      - uses: actions/setup-python@v5\n        with:\n          python-version: '3.11'\n"
_INSTALL = "run: python install.py"
_TEST = "run: python -m unittest discover -s tests"
# Stands for an installer: puts declared folders of the repository on the path, without any registry.
_INSTALLER = """\
import os, pathlib, site, sys, tomllib
declared = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]["dependencies"]
place = pathlib.Path(site.getsitepackages()[0]) / "vendored.pth"
lines = []
for name in declared:
    folder = pathlib.Path("vendor", name)
    if not folder.is_dir():
        sys.exit(f"ERROR: No matching distribution found for {name}")
    lines.append(str(folder.resolve()))
place.write_text("".join(f"{line}\\n" for line in lines))
"""
_MASKED_PYPROJECT = '[project]\nname = "app"\nversion = "1"\ndependencies = []\n'
PYTHON = Tiny(
    "python",
    {
        "pyproject.toml": _MASKED_PYPROJECT,
        "install.py": _INSTALLER,
        "vendor/shapes/shapes.py": "SIDES = {'square': 4}\n",
        "app.py": "import shapes\n\ndef sides(name):\n    return shapes.SIDES[name]\n",
        "tests/test_app.py": "import unittest\nimport app\n\nclass Sides(unittest.TestCase):\n"
        "    def test_square(self):\n        self.assertEqual(app.sides('square'), 4)\n",
    },
    {"pyproject.toml": _MASKED_PYPROJECT.replace("[]", '["shapes"]')},
    workflow(_PYTHON, _INSTALL, _TEST),
)
_MATRIX = "    strategy:\n      matrix:\n        python: ['3.11']\n        order: [first, second]\n"
PYTHON_MATRIX = PYTHON._replace(
    workflow=workflow(
        _PYTHON.replace("'3.11'", "${{ matrix.python }}"),
        'run: echo "ORDER=${{ matrix.order }}" >> $GITHUB_ENV',
        _INSTALL,
        "name: Run tests\n        if: env.ORDER == 'second'\n        " + _TEST,
        head=_MATRIX,
    ),
    act_command="act -j test --matrix order:second",
)
_MASKED_PACKAGE = """\
{
  "name": "app",
  "version": "1.0.0",
  "scripts": {
    "test": "node test.js"
  },
  "dependencies": {}
}
"""
JAVASCRIPT = Tiny(
    "javascript",
    {
        "package.json": _MASKED_PACKAGE,
        "vendor/shapes/package.json": '{"name": "shapes", "version": "1.0.0"}\n',
        "vendor/shapes/index.js": "exports.square = 4;\n",
        "test.js": "const shapes = require('shapes');\nif (shapes.square !== 4) process.exit(1);\n",
    },
    {"package.json": _MASKED_PACKAGE.replace("{}", '{\n    "shapes": "file:vendor/shapes"\n  }')},
    workflow(
        "      - uses: actions/setup-node@v4\n        with:\n          node-version: 20\n",
        "run: npm install --no-audit --no-fund",
        "run: npm test",
    ),
)
_MASKED_CARGO = '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
RUST = Tiny(
    "rust",
    {
        "Cargo.toml": _MASKED_CARGO,
        "shapes/Cargo.toml": '[package]\nname = "shapes"\nversion = "0.1.0"\nedition = "2021"\n',
        "shapes/src/lib.rs": "pub const SQUARE: u32 = 4;\n",
        "src/lib.rs": "pub fn sides() -> u32 { shapes::SQUARE }\n\n"
        "#[test]\nfn square() { assert_eq!(sides(), 4); }\n",
    },
    {"Cargo.toml": _MASKED_CARGO + 'shapes = { path = "shapes" }\n'},
    workflow("      - uses: dtolnay/rust-toolchain@stable\n", "run: cargo test --offline"),
)
_MASKED_PROJECT = (
    '<Project Sdk="Microsoft.NET.Sdk">\n  <PropertyGroup>\n    <TargetFramework>net8.0</TargetFramework>\n'
    "  </PropertyGroup>\n</Project>\n"
)
_MASKED_PROGRAM = _MASKED_PROJECT.replace("  </Prop", "    <OutputType>Exe</OutputType>\n  </Prop")
CSHARP = Tiny(
    "csharp",
    {
        "App/App.csproj": _MASKED_PROGRAM,
        "Shapes/Shapes.csproj": _MASKED_PROJECT,
        "Shapes/Shapes.cs": "namespace Shapes;\npublic static class Sides { public const int Square = 4; }\n",
        "App/App.cs": "namespace App;\n"
        "public static class Tests { public static int Main() => Shapes.Sides.Square == 4 ? 0 : 1; }\n",
    },
    {
        "App/App.csproj": _MASKED_PROGRAM.replace(
            "</Project>",
            '  <ItemGroup>\n    <ProjectReference Include="../Shapes/Shapes.csproj" />\n'
            "  </ItemGroup>\n</Project>",
        )
    },
    workflow(
        "      - uses: actions/setup-dotnet@v4\n        with:\n          dotnet-version: 8.0.x\n",
        "run: dotnet build App",
        "name: Run tests\n        run: dotnet run --project App",
    ),
)
TINY: Mapping[str, Tiny] = {
    "tiny-python": PYTHON,
    "tiny-matrix": PYTHON_MATRIX,
    "tiny-javascript": JAVASCRIPT,
    "tiny-rust": RUST,
    "tiny-csharp": CSHARP,
}


def write_tiny(root: Path, tinies: Mapping[str, Tiny] = TINY) -> Path:
    """Write a dataset of these instances, in the published layout."""
    root.mkdir(parents=True)
    lines = []
    for name, tiny in tinies.items():
        write_tree(root / "repo-data" / tiny.language / name, tiny.files())
        lines.append(
            {
                "instance_id": name,
                "metadata": {"full_name": f"somebody/{name}"},
                "language": tiny.language,
                "act_command": tiny.act_command,
                "ci_file": CI,
                "patch": diff(tiny.masked, tiny.original),
                "build_files": list(tiny.original),
                "env_specs": {},
            }
        )
    (root / "dataset-dibench-regular.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return root
