"""Virtual environments as layers, built by uv inside a sandbox at the place where they are seen later."""

import json
from collections.abc import Iterable

from groundup.domain.digests import digest_of
from groundup.environments.build_sandbox import ENVIRONMENT_PYTHON, BuildSandbox
from groundup.environments.interpreters import BUNDLED, Interpreter
from groundup.environments.layers import Built, LayerStore
from groundup.environments.locking import locked_lines
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonRequest, ResolvedRequest
from groundup.registries.pypi.pages import normalised
from groundup.registries.uv import uv_version

KIND = "python"
_FORMAT = 1
"""Counts up when the same request is built differently."""


def has_layer(request: PythonRequest, interpreter: Interpreter, store: LayerStore) -> bool:
    """Whether the layer of *request* is built."""
    return store.find(KIND, layer_key(request, interpreter)) is not None


def layer_key(request: PythonRequest, interpreter: Interpreter) -> str:
    """Return the digest of everything that decides the layer; not who asks, nor the order of lines."""
    question = request.model_dump(exclude={"on_behalf_of"})
    for name in ("requirements", "build_requirements", "refused"):
        question[name] = sorted(question[name])
    machine = {"python": interpreter.version, "abi": interpreter.abi, "uv": uv_version()}
    return digest_of({"format": _FORMAT, "request": question, **machine})


async def fill_environment(build: BuildSandbox, request: PythonRequest, interpreter: Interpreter) -> Built:
    """Make the virtual environment of *request* in an open build sandbox."""
    await build.uv("venv", ENVIRONMENT_TARGET, "--python", interpreter.inside, "--allow-existing", "--no-project")
    if request.with_pip and "pip" not in _names(request.requirements):
        await _add_pip(build, interpreter)
    if request.requirements:
        await _install(build, request)
    built = {"python": interpreter.version, "uv": uv_version(), **build.figures()}
    if build.variables:
        built["environment"] = json.dumps(build.variables)
    build.keep_log()
    return Built(built=built)


async def resolve(build: BuildSandbox, request: ResolvedRequest, interpreter: Interpreter) -> tuple[str, ...]:
    """Return the locked lines for *request*. Code that builds metadata runs in the sandbox."""
    source = await build.write("requirements.in", request.requirements)
    result = await build.uv(
        "pip", "compile", source, "--python", interpreter.inside, "--generate-hashes", "--no-header",
        "--no-annotate", "--no-emit-index-url", "--no-sources", "--quiet",
    )  # fmt: skip
    return locked_lines(result.stdout.decode(errors="replace"))


async def _add_pip(build: BuildSandbox, interpreter: Interpreter) -> None:
    """Add the interpreter's own pip; where it comes without, as on some systems, the index's newest."""
    install = ("pip", "install", "--python", ENVIRONMENT_PYTHON, "--compile-bytecode", "pip")
    if interpreter.has_pip:
        await build.uv(*install, "--no-index", "--find-links", f"{interpreter.library_inside}/{BUNDLED}")
    else:
        await build.uv(*install)


async def _install(build: BuildSandbox, request: PythonRequest) -> None:
    source = await build.write("requirements.txt", request.requirements)
    arguments = ["pip", "install", "--python", ENVIRONMENT_PYTHON, "--require-hashes", "--no-deps"]
    arguments += ["--compile-bytecode", "-r", source]
    config = None
    if request.build_requirements:
        arguments += ["--build-constraints", await build.write("build.txt", request.build_requirements)]
        pins = [line.partition(" ")[0] for line in request.build_requirements]
        # A source without a declaration of what builds it gets all of them; the constraints hold the hashes.
        table = [f"{json.dumps(name)} = {json.dumps(pins)}" for name in sorted(_names(request.requirements))]
        config = await build.write("uv.toml", ["[extra-build-dependencies]", *table])
    await build.uv(*arguments, config=config)


def _names(lines: Iterable[str]) -> set[str]:
    return {normalised(line.partition("==")[0]) for line in lines}
