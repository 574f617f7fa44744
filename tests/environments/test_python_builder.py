"""What the builder runs for each request, in a sandbox that answers by a script: commands and variables."""

from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, MachineError, SubmissionError, TaskError
from groundup.environments import python_builder
from groundup.environments.build_sandbox import LIMITS
from groundup.environments.interpreters import Interpreter
from groundup.environments.local import LocalBuilder
from groundup.environments.python_builder import has_layer, layer_key
from groundup.environments.requests import PythonRequest, ResolvedRequest
from groundup.registries.settings import Index, RegistrySettings
from groundup.registries.uv import uv_version
from groundup.sandbox.protocol import Command, CommandResult, Ending, SandboxSpec
from groundup.settings import Settings
from tests.sandbox.fake import FakeProvider, answer

SIX = f"six==1.16.0 --hash=sha256:{'1' * 64}"
TEN = f"ten-times==2.0 --hash=sha256:{'2' * 64} --hash=sha256:{'3' * 64}"
BACKEND = f"setuptools==70.0 --hash=sha256:{'4' * 64}"
PYTHON = "/opt/python/bin/python3.12"
STARTS = f"{PYTHON} -I -S -c import platform; print(platform.python_version())"
VENV = f"uv venv /opt/env --python {PYTHON} --allow-existing --no-project"
INSTALL = "uv pip install --python /opt/env/bin/python"
HASHED = f"{INSTALL} --require-hashes --no-deps"
DROP = "rm -rf /opt/env/.uv-cache"


class Bench:
    """A builder whose sandboxes answer as `says` has it, and what they were asked."""

    def __init__(self, root: Path) -> None:
        library = root / "py" / "lib" / "python3.12"
        (library / "ensurepip" / "_bundled").mkdir(parents=True)
        (root / "py" / "bin").mkdir()
        (root / "py" / "bin" / "python3.12").touch()
        self.bundled = library / "ensurepip" / "_bundled"
        self.interpreter = Interpreter(
            version="3.12.4",
            prefix=root / "py",
            executable=root / "py" / "bin" / "python3.12",
            standard_library=(library,),
            include=None,
            abi="cp312",
            shared_library=None,
            packages=library / "site-packages",
        )
        self.says: dict[str, CommandResult] = {}
        self.files: dict[str, str] = {}
        self.provider = FakeProvider(self._answer)
        nowhere = RegistrySettings(indexes=(Index(url="http://127.0.0.1:9/simple"),))
        self.settings = Settings(cache_dir=root / "cache")
        self.builder = LocalBuilder(self.settings, self.provider, nowhere)

    def _answer(self, spec: SandboxSpec, command: Command) -> CommandResult:
        for path in spec.workspace.glob("*.*"):
            self.files[path.name] = path.read_text()
        said = self.told(command)
        if (
            found := next((result for start, result in self.says.items() if said.startswith(start)), None)
        ) is not None:
            return found
        return answer(stdout=b"3.12.4\n" if said == STARTS else b"")

    def told(self, command: Command) -> str:
        """Return a command in one line."""
        return " ".join(command.argv).replace("/opt/uv/uv", "uv")

    @property
    def ran(self) -> list[str]:
        """All commands since this was asked for last."""
        found = [self.told(command) for command in self.provider.commands]
        self.provider.commands.clear()
        return found


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """One with an interpreter made up here."""
    made = Bench(tmp_path)

    async def known(minor: str, cache: Path) -> Interpreter:
        if minor != "3.12":
            raise MachineError(f"no Python {minor} here")
        return made.interpreter

    monkeypatch.setattr(python_builder, "known_interpreter", known)
    return made


REQUESTS: list[tuple[dict[str, object], list[str]]] = [
    ({}, [STARTS, VENV, DROP]),
    (
        {"requirements": (SIX, TEN)},
        [STARTS, VENV, f"{HASHED} --compile-bytecode -r /workspace/requirements.txt --no-build", DROP],
    ),
    (
        {"requirements": (SIX,), "build_requirements": (BACKEND,)},
        [
            STARTS,
            VENV,
            f"{HASHED} --compile-bytecode -r /workspace/requirements.txt --build-constraints /workspace/build.txt",
            DROP,
        ],
    ),
    ({"with_pip": True}, [STARTS, VENV, f"{INSTALL} --compile-bytecode pip", DROP]),
]


@pytest.mark.parametrize(("fields", "commands"), REQUESTS)
async def test_what_is_run_for_a_request(bench: Bench, fields: dict[str, object], commands: list[str]) -> None:
    """Once: the layer is found afterwards, also by another builder."""
    request = PythonRequest.model_validate({"python": "3.12", **fields})
    assert not has_layer(request, bench.interpreter, bench.builder._store)
    made = await bench.builder.python(request)
    assert bench.ran == commands
    assert has_layer(request, bench.interpreter, bench.builder._store)
    assert (await bench.builder.python(request)).layer == made.layer
    assert bench.ran == []
    assert made.path == ("/opt/env/bin", "/opt/python/bin")
    assert (made.python_version, made.environment, made.resolution) == ("3.12.4", {}, None)
    assert made.own_packages == "/opt/python/lib/python3.12/site-packages"
    assert (made.mounts[-1].source, made.mounts[-1].target) == (made.layer.path, "/opt/env")
    built = dict(made.layer.built)
    assert float(built.pop("seconds")) >= 0
    assert built == {
        "python": "3.12.4",
        "uv": uv_version(),
        **dict.fromkeys(("files", "files_from_cache", "bytes", "stale_pages"), "0"),
    }
    (spec,) = bench.provider.specs
    assert (spec.limits, spec.system, spec.label) == (LIMITS, "host", "build the Python 3.12 environment")
    assert spec.environment == {
        "TMPDIR": "/workspace/temporary",
        "UV_CACHE_DIR": "/opt/env/.uv-cache",
        "UV_LINK_MODE": "hardlink",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "UV_HTTP_RETRIES": "2",
        "UV_HTTP_TIMEOUT": "900",
    }
    assert [mount.target for mount in spec.mounts if mount.writable] == ["/opt/env"]
    assert "/opt/uv/uv" in [mount.target for mount in spec.mounts]


async def test_files_hold_what_is_installed(bench: Bench) -> None:
    """All lines; what builds sources is declared for each, with the hashes in constraints."""
    await bench.builder.python(
        PythonRequest(python="3.12", requirements=(TEN, SIX), build_requirements=(BACKEND,))
    )
    assert bench.files == {
        "requirements.txt": f"{TEN}\n{SIX}\n",
        "build.txt": f"{BACKEND}\n",
        "uv.toml": "[extra-build-dependencies]\n"
        + "".join(f'"{name}" = ["setuptools==70.0"]\n' for name in ("six", "ten-times")),
    }
    asked = {bench.told(command).partition(" --")[0]: command.environment for command in bench.provider.commands}
    assert asked["uv pip install"]["UV_CONFIG_FILE"] == "/workspace/uv.toml"
    assert "UV_NO_CONFIG" not in asked["uv pip install"]
    assert asked["uv venv /opt/env"]["UV_NO_CONFIG"] == "1"
    assert asked["uv venv /opt/env"]["UV_DEFAULT_INDEX"].startswith("http://127.0.0.1:")
    assert asked["rm -rf /opt/env/.uv-cache"] == {}


async def test_a_source_is_built_where_there_is_no_wheel(bench: Bench) -> None:
    """uv says so by its code 1; any other is a failure."""
    bench.says[f"{HASHED} --compile-bytecode -r /workspace/requirements.txt --no-build"] = answer(1)
    await bench.builder.python(PythonRequest(python="3.12", requirements=(SIX,)))
    wheels = f"{HASHED} --compile-bytecode -r /workspace/requirements.txt --no-build"
    assert bench.ran == [STARTS, VENV, wheels, wheels.removesuffix(" --no-build"), DROP]


async def test_an_environment_begins_with_what_there_is(bench: Bench) -> None:
    """With pip alone, then with the same packages; an interpreter that is known is not started again."""
    (bench.bundled / "pip-24.0-py3-none-any.whl").touch()
    pip = f"{INSTALL} --compile-bytecode pip --no-index --find-links /opt/python/lib/python3.12/ensurepip/_bundled"
    install = f"{HASHED} --compile-bytecode -r /workspace/requirements.txt --no-build"
    await bench.builder.python(PythonRequest(python="3.12", requirements=(SIX,), with_pip=True))
    assert bench.ran == [STARTS, VENV, pip, DROP, install, DROP]
    await bench.builder.python(PythonRequest(python="3.12", requirements=(SIX, TEN), with_pip=True))
    assert bench.ran == [install, DROP]
    await bench.builder.python(PythonRequest(python="3.12", requirements=(TEN,)))
    assert bench.ran == [VENV, install, DROP]
    await bench.builder.python(PythonRequest(python="3.12", requirements=(TEN,), with_pip=True))
    assert bench.ran == [pip, DROP]
    own = f"pip==24.1 --hash=sha256:{'5' * 64}"
    await bench.builder.python(PythonRequest(python="3.12", requirements=(own,), with_pip=True))
    assert bench.ran == [VENV, install, DROP], "a line brings another pip"


async def test_old_pips_come_with_what_they_build_by(bench: Bench) -> None:
    """Which is part of the layer's name."""
    request = PythonRequest(python="3.12", with_pip=True)
    (bench.bundled / "pip-22.3-py3-none-any.whl").touch()
    key = layer_key(request, bench.interpreter)
    (bench.bundled / "setuptools-65-py3-none-any.whl").touch()
    assert layer_key(request, bench.interpreter) != key
    await bench.builder.python(request)
    assert f"{INSTALL} --compile-bytecode pip setuptools --no-index" in bench.ran[2]


def test_what_names_a_layer(bench: Bench) -> None:
    """Neither who asks nor the order of lines; the rest all."""
    request = PythonRequest(python="3.12", requirements=(SIX, TEN), refused=("a", "b"))
    key = layer_key(request, bench.interpreter)
    for same in (
        request.but(requirements=(TEN, SIX)),
        request.but(refused=("b", "a")),
        request.but(on_behalf_of="submission"),
    ):
        assert layer_key(same, bench.interpreter) == key
    for other in (
        request.but(with_pip=True), request.but(requirements=(SIX,)), request.but(exclude_newer="2024-01-01"),
        request.but(build_requirements=(BACKEND,)), request.but(refused=()),
    ):  # fmt: skip
        assert layer_key(other, bench.interpreter) != key
    assert layer_key(request, bench.interpreter.but(version="3.12.5")) != key
    assert layer_key(request, bench.interpreter.but(abi="other")) != key


async def test_an_interpreter_is_itself_inside(bench: Bench) -> None:
    """With its own library where it needs that, always then; otherwise it is of no use."""
    odd = {"LD_LIBRARY_PATH": "/opt/python/lib"}
    first = iter((answer(stdout=b"3.12.1\n"),))
    script = bench.provider.script

    def once(spec: SandboxSpec, command: Command) -> CommandResult:
        return next(first, None) or script(spec, command)

    bench.provider.script = once
    made = await bench.builder.python(PythonRequest(python="3.12"))
    assert made.environment == odd
    assert [command.environment.get("LD_LIBRARY_PATH") for command in bench.provider.commands] == [
        None, "/opt/python/lib", "/opt/python/lib", "/opt/python/lib"
    ]  # fmt: skip
    assert bench.ran == [STARTS, STARTS, VENV, DROP]
    again = await bench.builder.python(PythonRequest(python="3.12", requirements=(SIX,)))
    assert again.environment == odd
    assert bench.ran[0] == VENV
    fresh = LocalBuilder(bench.settings, bench.provider)
    bench.provider.script = script
    bench.says[STARTS] = answer(stdout=b"3.12.1\n")
    with pytest.raises(InfrastructureError) as failed:
        await fresh.python(PythonRequest(python="3.12", requirements=(TEN,)))
    assert str(failed.value).startswith(
        f"the interpreter {bench.interpreter.executable} does not start inside a sandbox; install another one, "
        "such as uv's own, and put it first on PATH (the log is /"
    )


FAILS: list[tuple[CommandResult, str, type[Exception], str]] = [
    (
        answer(2, stderr=b"error: hash mismatch"),
        "recipe",
        TaskError,
        "hash mismatch: hash mismatch; mend the recipe",
    ),
    (answer(2, stderr=b"error: hash mismatch"), "submission", SubmissionError, "hash mismatch: hash mismatch"),
    (
        answer(1, ending=Ending.MEMORY),
        "recipe",
        TaskError,
        "memory: the build needed more memory than it may have",
    ),
]


@pytest.mark.parametrize(("result", "asker", "kind", "says"), FAILS)
async def test_who_asked_is_to_blame(
    bench: Bench, result: CommandResult, asker: str, kind: type[Exception], says: str
) -> None:
    """With the log, which has every command; a request that failed so fails at once the next time."""
    bench.says["uv venv"] = result
    request = PythonRequest.model_validate({"python": "3.12", "on_behalf_of": asker})
    with pytest.raises(kind) as failed:
        await bench.builder.python(request)
    assert str(failed.value).startswith(f"the Python 3.12 environment: {says}")
    log = Path(str(failed.value).partition("the log is ")[2].rstrip(")"))
    text = log.read_text()
    assert f"$ {VENV.replace('uv ', '/opt/uv/uv ', 1)}\n" in text
    assert "[exited, exit code 0, 0.0 s]\n" in text
    assert bench.ran == [STARTS, VENV]
    with pytest.raises(kind):
        await bench.builder.python(request)
    assert bench.ran == []


async def test_an_interpreter_that_is_lacking_is_looked_for_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence is the same afterwards."""
    for _ in range(2):
        with pytest.raises(MachineError, match=r"\Ano Python 3\.9 here\Z"):
            await bench.builder.python(PythonRequest(python="3.9"))
        monkeypatch.setattr(python_builder, "known_interpreter", None)


async def test_requirements_are_resolved_then_installed(bench: Bench) -> None:
    """Pins come from uv's words; of the same lines the answer is kept."""
    locked = SIX.replace(" --hash", " \\\n    --hash").encode()
    bench.says["uv pip compile"] = answer(stdout=locked)
    request = ResolvedRequest(python="3.12", requirements=("six  # why", "", "# nothing"), names=("main",))
    made = await bench.builder.submission_environment(request)
    compiled = (
        f"uv pip compile /workspace/requirements.in --python {PYTHON} --generate-hashes --no-header --no-annotate "
        "--no-emit-index-url --no-sources --quiet"
    )
    reached = f"{PYTHON} -I -S -W ignore /workspace/reached.py /opt/env /workspace/names.txt"
    install = f"{HASHED} -r /workspace/requirements.txt --no-build"
    assert bench.ran == [STARTS, compiled, VENV, install, reached, DROP]
    assert (bench.files["requirements.in"], bench.files["names.txt"]) == ("six\n", "main\n")
    assert made.resolution is not None
    assert made.resolution.lines == (SIX,)
    assert [spec.label for spec in bench.provider.specs] == [
        "build resolving six for Python 3.12", "build the Python 3.12 environment"
    ]  # fmt: skip
    again = await bench.builder.submission_environment(request.but(requirements=("six",)))
    assert (again.resolution, bench.ran) == (made.resolution, [])
    nothing = await bench.builder.submission_environment(ResolvedRequest(python="3.12", requirements=("# no",)))
    assert nothing.resolution is not None
    assert (nothing.resolution.lines, bench.ran) == ((), [VENV, DROP])


@pytest.mark.parametrize(("asker", "kind"), [("submission", SubmissionError), ("recipe", TaskError)])
async def test_lines_that_are_no_requirements(bench: Bench, asker: str, kind: type[Exception]) -> None:
    """Are whose they are."""
    request = ResolvedRequest.model_validate(
        {"python": "3.12", "requirements": ("../elsewhere",), "on_behalf_of": asker}
    )
    with pytest.raises(kind):
        await bench.builder.submission_environment(request)
    assert bench.ran == []


async def test_what_many_share_is_made_while_it_is_resolved(bench: Bench) -> None:
    """And the environment begins with it."""
    (bench.bundled / "pip-24.0-py3-none-any.whl").touch()
    script = bench.provider.script

    def resolving(spec: SandboxSpec, command: Command) -> CommandResult:
        if "compile" not in command.argv:
            return script(spec, command)
        asked = (spec.workspace / "requirements.in").read_text().split()
        return answer(stdout="\n".join({"six": SIX, "ten-times": TEN}[name] for name in asked).encode())

    bench.provider.script = resolving
    request = ResolvedRequest(
        python="3.12",
        requirements=("six", "ten-times"),
        with_pip=True,
        begins_with=("ten-times",),
        names=("main",),
    )
    await bench.builder.submission_environment(request)
    ran = bench.ran
    starts = ("uv venv", "uv pip compile", INSTALL, PYTHON)
    assert [sum(one.startswith(start) for one in ran) for start in starts] == [1, 2, 3, 3], "\n".join(ran)
    assert bench.files["names.txt"] == "main\nten_times\n"
