"""A tiny dataset in the published layout: a masked repository per language, and the patches that restore them."""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path

from groundup.suites.dibench.dataset import InstanceProblem, InstanceSet

Files = Mapping[str, str]

PYTHON_MASKED = (
    '[project]\nname = "alpha"\nversion = "1"\ndependencies = []\n\n[dependency-groups]\ndev = ["pytest"]\n'
)
PYTHON_ORIGINAL = PYTHON_MASKED.replace(
    "dependencies = []", 'dependencies = [\n    "requests>=2.31",\n    "PyYAML",\n]', 1
)
RUST_MASKED = '[package]\nname = "beta"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
RUST_ORIGINAL = RUST_MASKED + 'serde = { version = "1", features = ["derive"] }\nbeta-core = { path = "core" }\n'
JAVASCRIPT_MASKED = (
    '{\n  "name": "gamma",\n  "dependencies": {},\n  "devDependencies": {\n    "jest": "^29.0.0"\n  }\n}\n'
)
JAVASCRIPT_ORIGINAL = JAVASCRIPT_MASKED.replace(
    '"dependencies": {}', '"dependencies": {\n    "left-pad": "^1.3.0"\n  }'
)
CSHARP_MASKED = '<Project Sdk="Microsoft.NET.Sdk">\n  <PropertyGroup />\n</Project>\n'
CSHARP_ORIGINAL = CSHARP_MASKED.replace(
    "</Project>",
    '  <ItemGroup>\n    <PackageReference Include="Newtonsoft.Json" Version="13.0.1" />\n'
    '    <ProjectReference Include="..\\Core\\Core.csproj" />\n  </ItemGroup>\n</Project>',
)

INSTANCES: dict[str, tuple[str, Files, Files]] = {
    "one_alpha": (
        "python",
        {
            "pyproject.toml": PYTHON_MASKED,
            "alpha/__init__.py": "import requests\nimport yaml\n",
            "tests/test_alpha.py": "def test_it():\n    import alpha\n",
        },
        {"pyproject.toml": PYTHON_ORIGINAL},
    ),
    "two_beta": (
        "rust",
        {
            "Cargo.toml": RUST_MASKED,
            "core/Cargo.toml": '[package]\nname = "beta-core"\n',
            "src/lib.rs": "use serde::Serialize;\nuse beta_core::x;\n#[test]\nfn works() {}\n",
        },
        {"Cargo.toml": RUST_ORIGINAL},
    ),
    "three_gamma": (
        "javascript",
        {
            "package.json": JAVASCRIPT_MASKED,
            "index.js": "const pad = require('left-pad');\nmodule.exports = pad;\n",
        },
        {"package.json": JAVASCRIPT_ORIGINAL},
    ),
    "four_delta": (
        "csharp",
        {
            "App/App.csproj": CSHARP_MASKED,
            "Core/Core.csproj": '<Project Sdk="Microsoft.NET.Sdk" />\n',
            "App/Program.cs": "using Newtonsoft.Json;\nclass Program { }\n",
        },
        {"App/App.csproj": CSHARP_ORIGINAL},
    ),
}
"""Id -> language, masked repository, original build files."""

KNOWN = {
    "pypi": {"requests": ["2.31.0", "2.32.0"], "pyyaml": ["6.0"], "old": ["1.0"]},
    "crates": {"serde": ["1.0.200"]},
    "npm": {"left-pad": ["1.3.0"]},
    "nuget": {"newtonsoft.json": ["13.0.1", "13.0.3"]},
}
ABSENT = {"pypi": ["made-up-name"], "crates": ["made-up-name"], "npm": ["made-up-name"], "nuget": ["made.up"]}


def diff(before: Files, after: Files) -> str:
    """Return a unified diff as Git writes it."""
    text = ""
    for path, new in after.items():
        old = before.get(path, "")
        lines = difflib.unified_diff(
            old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}"
        )
        text += f"diff --git a/{path} b/{path}\n" + "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
        )
    return text


def instance(name: str, **changes: object) -> dict[str, object]:
    """Return one line of the published schema."""
    language, masked, original = INSTANCES[name]
    return {
        "instance_id": name,
        "metadata": {"full_name": name.replace("_", "/"), "commit_sha": "abc1234", "topics": []},
        "language": language,
        "act_command": "act -j test",
        "ci_file": ".github/workflows/ci.yml",
        "patch": diff(masked, original),
        "build_files": list(original),
        "env_specs": {"SDK": language, "OS": "ubuntu-22.04"},
        **changes,
    }


def write_dataset(root: Path, large: tuple[str, ...] = ()) -> Path:
    """Write the data as somebody has it who unpacked the release."""
    root.mkdir(parents=True, exist_ok=True)
    for subset in ("regular", "large"):
        names = [name for name in INSTANCES if (name in large) == (subset == "large")]
        if names:
            lines = [json.dumps(instance(name)) for name in names]
            (root / f"dataset-dibench-{subset}.jsonl").write_text("\n".join(lines) + "\n")
    for name, (language, masked, _) in INSTANCES.items():
        write_tree(root / "repo-data" / language / name, masked)
    return root


def write_tree(root: Path, files: Files) -> Path:
    """Write files below *root*."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def write_prediction(root: Path, name: str, after: Files) -> None:
    """Write a prediction where the published tools do."""
    language, masked, _ = INSTANCES[name]
    write_tree(root / language / name, {"patch.diff": diff(masked, after), "eval-result.json": "{}"})


def write_snapshot(path: Path) -> Path:
    """Write a registry snapshot of the few packages that the tests know."""
    rows: list[dict[str, object]] = []
    for ecosystem, packages in KNOWN.items():
        rows += [{"ecosystem": ecosystem, "name": n, "exists": True, "versions": v} for n, v in packages.items()]
    for ecosystem, names in ABSENT.items():
        rows += [{"ecosystem": ecosystem, "name": name, "exists": False, "versions": []} for name in names]
    path.write_text("".join(json.dumps(row | {"fetched_at": "2026-01-01T00:00:00Z"}) + "\n" for row in rows))
    return path


def problem(dataset: InstanceSet, name: str) -> InstanceProblem:
    """Return a problem of the tiny dataset."""
    return next(one for one in dataset.problems if one.id == name)
