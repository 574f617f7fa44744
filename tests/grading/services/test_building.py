"""How a service of Node.js or Go is built, and what starts it, with scripted sandboxes."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from groundup.domain.errors import SubmissionError
from groundup.domain.languages import ServiceToolchain
from groundup.environments.toolchains import Toolchain
from groundup.grading.context import GradingContext
from groundup.grading.services.building import BuiltService, find_built_start, install_built, no_built_start
from groundup.grading.services.records import InstallOutcome, Lifecycle
from groundup.registries.lending import RegistrySet
from groundup.sandbox.protocol import Command, CommandResult, Ending, SandboxSpec
from tests.grading.library.laboratory import write_tree
from tests.sandbox.fake import FakeProvider, answer


class Builder:
    """Lends a toolchain of this name, and no registry."""

    def __init__(self, name: ServiceToolchain) -> None:
        self._toolchain = Toolchain(name=name, versions={}, environment={"HOME": "/h"})

    async def toolchain(self, name: str) -> Toolchain:
        assert name == self._toolchain.name
        return self._toolchain

    def registries(self, rules: object) -> Any:
        return nullcontext(RegistrySet({}))


async def built(
    folder: Path, name: ServiceToolchain, files: Mapping[str, str], results: Mapping[str, CommandResult]
) -> tuple[BuiltService, list[str], FakeProvider]:
    """Return how the install ends where commands end as *results* say, and which commands were run."""

    def script(spec: SandboxSpec, command: Command) -> CommandResult:
        return results.get(command.argv[1], answer())

    provider = FakeProvider(script)
    context = GradingContext(cast(Any, provider), cast(Any, Builder(name)), folder)
    tree = write_tree(folder / "submission", files)
    found = await install_built(name, tree, Lifecycle(install_s=7), context)
    return found, [" ".join(command.argv) for command in provider.commands], provider


LOCK = {"package.json": "{}", "package-lock.json": "{}"}


@pytest.mark.parametrize(
    ("name", "files", "results", "outcome", "message", "commands"),
    [
        ("node", {"app.js": ""}, {}, InstallOutcome.UNDECLARED, "no package.json", []),
        ("go", {"main.go": ""}, {}, InstallOutcome.UNDECLARED, "no go.mod", []),
        (
            *("node", {"package.json": "{}"}, {}, InstallOutcome.SUCCEEDED, ""),
            ["npm install", "npm run build --if-present"],
        ),
        ("node", LOCK, {}, InstallOutcome.SUCCEEDED, "", ["npm ci", "npm run build --if-present"]),
        (
            *("node", {"package.json": "{}", "npm-shrinkwrap.json": "{}"}, {}, InstallOutcome.SUCCEEDED, ""),
            ["npm ci", "npm run build --if-present"],
        ),
        (
            "node",
            LOCK,
            {
                "ci": answer(
                    1, b"npm notice x\n> build\nnpm error code E1\nnpm error a\n", b"\nnpm ERR! b\nc\nd\ne\n"
                )
            },
            InstallOutcome.FAILED,
            "`npm ci`: a; b; c; d",
            ["npm ci"],
        ),
        (
            *("node", LOCK, {"run": answer(2, b"x" * 400)}, InstallOutcome.FAILED),
            f"`npm run build --if-present`: {'x' * 400}"[:300],
            ["npm ci", "npm run build --if-present"],
        ),
        (
            *("node", LOCK, {"ci": answer(None, ending=Ending.TIMEOUT)}, InstallOutcome.FAILED),
            "`npm ci`: the build did not end in time",
            ["npm ci"],
        ),
        (
            *("go", {"go.mod": "", "vendor/x": ""}, {}, InstallOutcome.SUCCEEDED, ""),
            ["go build -mod=vendor -o bin/ ./..."],
        ),
        (
            *(
                "go",
                {"go.mod": ""},
                {"build": answer(1, b"", b"go: downloading a\n# b\n./main.go:1: undefined: x\n")},
            ),
            InstallOutcome.FAILED,
            "`go build -mod=mod -o bin/ ./...`: ./main.go:1: undefined: x",
            ["go build -mod=mod -o bin/ ./..."],
        ),
    ],
)
async def test_a_service_is_built_by_its_own_means(
    tmp_path: Path,
    name: ServiceToolchain,
    files: Mapping[str, str],
    results: Mapping[str, CommandResult],
    outcome: InstallOutcome,
    message: str,
    commands: list[str],
) -> None:
    """As its lock file and vendored modules ask for; what fails ends it, in first words that tell something."""
    found, said, provider = await built(tmp_path, name, files, results)

    assert (found.outcome, found.message, said) == (outcome, message, commands)
    assert [f"$ {line}" for line in said] == [
        line for line in found.log.decode().splitlines() if line.startswith("$ ")
    ]
    assert found.tree != tmp_path / "submission"
    assert {str(path.relative_to(found.tree)) for path in found.tree.rglob("*") if path.is_file()} == files.keys()
    assert found.toolchain.environment.keys() > {"HOME"}
    for spec in provider.specs:
        assert (spec.workspace, spec.limits.command_s, spec.environment["HOME"]) == (found.tree, 17, "/h")


def manifest(**fields: object) -> dict[str, str]:
    """Return a package.json with these *fields*."""
    return {"package.json": json.dumps(fields)}


@pytest.mark.parametrize(
    ("name", "files", "argv", "installs"),
    [
        ("node", {"start.sh": "node x", **manifest(main="x.js")}, ("bash", "./start.sh"), False),
        ("node", {"start.sh": "npm start", "app.js": ""}, ("bash", "./start.sh"), True),
        ("go", {"bin/start.sh": "go run .", "bin/app": ""}, ("bash", "./bin/start.sh"), True),
        ("go", {"start.sh": "npm start"}, ("bash", "./start.sh"), False),
        ("node", {**manifest(scripts={"start": "x"}, main="a.js"), "a.js": ""}, ("npm", "start"), False),
        (
            "node",
            {**manifest(scripts={"start": 1}, main="a.js"), "a.js": "", "index.js": ""},
            ("node", "./a.js"),
            False,
        ),
        ("node", {**manifest(main="none.js"), "index.js": "", "app.js": ""}, ("node", "./index.js"), False),
        ("node", {**manifest(main=["a"]), "server.js": "", "index.js": ""}, ("node", "./server.js"), False),
        ("node", {"package.json": "[]", "app.js": ""}, ("node", "./app.js"), False),
        ("node", {"app.js": ""}, None, False),
        ("node", manifest(main="none.js"), None, False),
        ("go", {"bin/app": ""}, ("./bin/app",), False),
        ("go", {"bin/app": "", "bin/other": ""}, None, False),
        ("go", {"main.go": ""}, None, False),
    ],
)
def test_what_starts_a_built_service(
    tmp_path: Path, name: ServiceToolchain, files: dict[str, str], argv: tuple[str, ...] | None, installs: bool
) -> None:
    """A script first, then what package.json or the build says, and nothing where that is in doubt."""
    start = find_built_start(name, write_tree(tmp_path, files))

    assert (start and start.argv) == argv
    assert bool(start and start.installs) is installs
    assert start is None or start.found in (*files, "package.json")


def test_a_manifest_that_cannot_be_read_is_the_submissions_fault(tmp_path: Path) -> None:
    """It says so; and where nothing starts it, what was looked for is named."""
    with pytest.raises(SubmissionError, match=r"package.json is not valid JSON"):
        find_built_start("node", write_tree(tmp_path, {"package.json": "{"}))
    assert no_built_start("go").endswith("third level, and the build left not exactly one program in bin")
    assert no_built_start("node").endswith("there is none of server.js, index.js, app.js")
