"""Tests of groundup.environments.local: real builds in real sandboxes, from an index on loopback."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, SubmissionError, TaskError
from groundup.domain.limits import Limits
from groundup.environments.local import LocalBuilder
from groundup.environments.requests import PythonRequest, ResolvedRequest
from groundup.registries.settings import Credentials, Index, RegistrySettings
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from groundup.trees.walking import remove_tree
from tests.environments.conftest import MINOR, MakeBuilder, inside
from tests.needs import lack
from tests.registries.fake_index import FakeIndex, make_sdist, make_wheel, sha256

pytestmark = pytest.mark.end_to_end

SPY = """
import glob, os
told = repr(dict(os.environ))
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline') + ['/proc/self/mountinfo']:
    try: told += open(path, 'rb').read().decode(errors='replace')
    except OSError: pass
open('/opt/env/seen.txt', 'w').write(told)
"""


def request(*lines: str, **more: object) -> PythonRequest:
    """Return a request for the Python that runs the tests."""
    return PythonRequest.model_validate({"python": MINOR, "requirements": lines, **more})


async def test_wheels_and_sources_become_one_environment(
    index: FakeIndex, builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """A layer holds exactly what was locked, with bytecode, and is used read-only where it was built."""
    lines = [index.add(make_wheel("demo", "1.0")), index.add(make_sdist("built", "2.0"))]
    environment = await builder.python(request(*lines))
    code = (
        "import demo, built, sys, importlib.metadata as m, os\n"
        "print(demo.version, built.version, sys.prefix, sys.base_prefix, os.path.exists(demo.__cached__),"
        " sorted(d.metadata['Name'] for d in m.distributions()), os.access('/opt/env', os.W_OK))"
    )
    ended = await inside(provider, environment, code, tmp_path / "work")
    assert ended == "1.0 2.0 /opt/env /opt/python True ['built', 'demo'] False"
    assert environment.layer.built["python"] == environment.python_version
    assert environment.python_version.startswith(MINOR)
    assert int(environment.layer.built["files"]) == 2
    assert not (environment.layer.path / ".uv-cache").exists()


async def test_nothing_of_the_hosts_packages_is_seen(
    builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """An empty environment finds no package anywhere, not even in the interpreter's own folders."""
    environment = await builder.python(request())
    code = (
        "import glob\n"
        "print(glob.glob('/opt/python/lib*/python3*/site-packages/*')"
        " + glob.glob('/opt/python/lib*/python3*/dist-packages/*'))"
    )
    assert await inside(provider, environment, code, tmp_path / "work") == "[]"


async def test_the_interpreter_itself_is_on_the_path(
    builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """`uv sync` of a start script makes environments of the first Python on PATH that lies in none."""
    environment = await builder.python(request())
    code = (
        "import os, shutil, sys\n"
        "others = [place for place in os.environ['PATH'].split(':') if not place.startswith(sys.prefix)]\n"
        f"print(shutil.which('python'), shutil.which('python{MINOR}', path=':'.join(others)))"
    )
    ended = await inside(provider, environment, code, tmp_path / "work")
    assert ended == f"/opt/env/bin/python /opt/python/bin/python{MINOR}"


async def test_pip_is_inside_when_asked_for(
    builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """With pip means that `python -m pip` works, and brings nothing else along."""
    interpreter = await builder.interpreter(MINOR)
    if not interpreter.has_pip:
        lack("bundled pip", f"the Python {MINOR} of this machine brings none along")
    environment = await builder.python(request(with_pip=True))
    code = (
        "import runpy, sys; sys.argv[1:] = ['list', '--format=json']; runpy.run_module('pip', run_name='__main__')"
    )
    (found,) = json.loads(await inside(provider, environment, code, tmp_path / "work"))
    assert found["name"] == "pip"


async def test_environments_with_pip_begin_with_one_compiled_pip(
    index: FakeIndex, builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """Pip is installed and compiled once for an interpreter, not in each environment, and works in each."""
    if not (await builder.interpreter(MINOR)).has_pip:
        lack("bundled pip", f"the Python {MINOR} of this machine brings none along")
    wheels = [index.add(make_wheel(name, "1.0")) for name in ("demo", "other")]
    made = [await builder.python(request(wheel, with_pip=True)) for wheel in wheels]
    bare = await builder.python(request(with_pip=True))
    compiled = [
        next(one.layer.path.rglob("pip/__pycache__/__main__.*")).stat().st_mtime_ns for one in (*made, bare)
    ]
    logs = [builder._store.log_path("python", one.layer.digest).read_text() for one in made]
    assert len(set(compiled)) == 1
    assert not any("uv venv" in log or "+ pip==" in log for log in logs)
    code = (
        "import runpy, sys; sys.argv[1:] = ['list', '--format=json']; runpy.run_module('pip', run_name='__main__')"
    )
    found = json.loads(await inside(provider, made[0], code, tmp_path / "work"))
    assert {one["name"] for one in found} == {"demo", "pip"}


async def test_with_pip_the_files_of_the_same_environment_without_it_are_shared(
    index: FakeIndex, builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """Two graders that differ in pip alone cost the disk one environment; what pip adds is not in the other."""
    if not (await builder.interpreter(MINOR)).has_pip:
        lack("bundled pip", f"the Python {MINOR} of this machine brings none along")
    wheel = index.add(make_wheel("demo", "1.0"))
    without, with_pip = [await builder.python(request(wheel, with_pip=pip)) for pip in (False, True)]
    modules = [next(one.layer.path.rglob("demo*/METADATA")) for one in (without, with_pip)]
    log = builder._store.log_path("python", with_pip.layer.digest).read_text()

    assert modules[0].samefile(modules[1]) == provider.guests_are_others
    assert "+ demo==" not in log
    assert not list(without.layer.path.rglob("pip"))
    code = (
        "import runpy, sys; sys.argv[1:] = ['list', '--format=json']; runpy.run_module('pip', run_name='__main__')"
    )
    found = json.loads(await inside(provider, with_pip, code, tmp_path / "work"))
    assert {one["name"] for one in found} == {"demo", "pip"}


def listing(tree: Path) -> dict[str, str]:
    """Return every file of an environment with its digest; of bytecode, without the time of its source."""
    places = (path for path in sorted(tree.rglob("*")) if path.is_file() and not path.is_symlink())
    contents = {path: path.read_bytes()[16 if path.suffix == ".pyc" else 0 :] for path in places}
    return {str(path.relative_to(tree)): sha256(content) for path, content in contents.items()}


async def test_an_environment_begins_with_a_smaller_one_and_is_the_same(
    index: FakeIndex, builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """What many environments share is installed once, and each holds exactly what a fresh one does."""
    if not (await builder.interpreter(MINOR)).has_pip:
        lack("bundled pip", f"the Python {MINOR} of this machine brings none along")
    for name in ("shared", "demo"):
        index.add(make_wheel(name, "1.0"))
    index.add(make_sdist("built", "2.0"))
    asked = ResolvedRequest(python=MINOR, requirements=("demo", "built", "shared"), with_pip=True)
    begun = await builder.submission_environment(asked.but(begins_with=("shared",)))
    fresh_builder = LocalBuilder(Settings(cache_dir=tmp_path / "fresh"), provider, index.configuration())
    fresh = await fresh_builder.submission_environment(asked)
    log = builder._store.log_path("python", begun.layer.digest).read_text()
    assert "+ demo==" in log
    assert "+ shared==" not in log
    assert "+ shared==" in fresh_builder._store.log_path("python", fresh.layer.digest).read_text()
    assert begun.layer.digest == fresh.layer.digest
    assert listing(begun.layer.path) == listing(fresh.layer.path)


async def test_modules_that_no_name_leads_to_get_no_bytecode(
    index: FakeIndex, builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """They are imported all the same."""
    for name in ("shared", "demo", "unnamed"):
        index.add(make_wheel(name, "1.0"))
    wanted = ("demo", "shared", "unnamed")
    asked = ResolvedRequest(python=MINOR, requirements=wanted, begins_with=("shared",), names=("demo",))
    environment = await builder.submission_environment(asked)
    code = (
        "import demo, shared, unnamed, os\nprint([os.path.exists(m.__cached__) for m in (demo, shared, unnamed)])"
    )
    assert await inside(provider, environment, code, tmp_path / "work") == "[True, True, False]"


async def test_what_builds_a_source_may_be_another_version_than_what_is_pinned(
    index: FakeIndex, builder: LocalBuilder
) -> None:
    """Pages are short only while nothing but wheels is wanted."""
    index.add(make_wheel("helper", "1.0"))
    pinned = index.add(make_wheel("helper", "2.0"))
    extra = "import helper; assert helper.version == '1.0'"
    line = index.add(make_sdist("built", "2.0", extra=extra, built_with="helper==1.0"))
    environment = await builder.python(request(pinned, line))
    assert len(list(environment.layer.path.rglob("*.dist-info"))) == 2


async def test_a_hundred_askers_build_once(index: FakeIndex, make_builder: MakeBuilder) -> None:
    """Attempts that ask at once, through several builders on one cache, cause one build."""
    wheel = make_wheel("demo", "1.0")
    asked = request(index.add(wheel))
    builders = [make_builder() for _ in range(4)]
    layers = await asyncio.gather(*(builders[number % 4].python(asked) for number in range(100)))
    assert len({layer.layer.path for layer in layers}) == 1
    assert index.files_asked() == [wheel[0]]


async def test_the_second_time_needs_no_network(
    index: FakeIndex, make_builder: MakeBuilder, tmp_path: Path
) -> None:
    """With everything fetched once, even a lost layer is built again while the index is gone, and says so."""
    asked = request(index.add(make_wheel("demo", "1.0")), index.add(make_sdist("built", "2.0")))
    first = await make_builder().python(asked)
    remove_tree(tmp_path / "cache/layers")
    index.failing = 503
    second = await make_builder().python(asked)
    assert second.layer.digest == first.layer.digest
    assert second.layer.built["files_from_cache"] == "2"


async def test_credentials_are_never_seen_inside(index: FakeIndex, make_builder: MakeBuilder) -> None:
    """Code that runs while a source is built finds neither the password nor the address of the index."""
    index.credentials = ("alice", "hunter2secret")
    asked = request(index.add(make_sdist("spy", "1.0", extra=f"exec({SPY!r})")))
    own = Index(url=f"{index.url}/simple", credentials=Credentials(username="alice", password="hunter2secret"))
    configuration = RegistrySettings(indexes=(own,), trust_environment=False)
    environment = await make_builder(configuration).python(asked)
    seen = (environment.layer.path / "seen.txt").read_text()
    assert "UV_DEFAULT_INDEX" in seen
    for secret in ("hunter2secret", "alice", index.url.removeprefix("http://")):
        assert secret not in seen


@pytest.mark.parametrize("asker", ["recipe", "submission"])
@pytest.mark.parametrize("fault", ["unknown name", "unknown version", "hash", "refused", "build", "timeout"])
async def test_each_fault_of_the_requirements_is_reported(
    index: FakeIndex, make_builder: MakeBuilder, fault: str, asker: str
) -> None:
    """What is wrong with the lines is the task's or the submission's fault, named in a sentence with its log."""
    good = index.add(make_wheel("demo", "1.0"))
    extra = {"build": "raise SystemExit('no compiler')", "timeout": "import time; time.sleep(60)"}.get(
        fault, "pass"
    )
    source = index.add(make_sdist("built", "2.0", extra=extra))
    line, ended = {
        "unknown name": (good.replace("demo", "absent"), "unknown package"),
        "unknown version": (good.replace("1.0", "9.0"), "unknown package"),
        "hash": (good[:-64] + "0" * 64, "hash mismatch"),
        "refused": (good, "forbids installing 'demo'"),
        "build": (source, "no compiler"),
        "timeout": (source, "did not end in time"),
    }[fault]
    limits = Limits(command_s=3.0) if fault == "timeout" else Limits()
    builder = make_builder(limits=limits)
    asked = request(line, on_behalf_of=asker, refused=["Demo"] if fault == "refused" else [])
    with pytest.raises(TaskError if asker == "recipe" else SubmissionError, match=ended) as error:
        await builder.python(asked)
    log = Path(str(error.value).rpartition("the log is ")[2].rstrip(")"))
    assert b"pip install" in log.read_bytes()
    assert [path.name for path in log.parent.iterdir() if path.is_dir()] == []
    asks = len(index.asked)
    with pytest.raises(TaskError if asker == "recipe" else SubmissionError, match=ended):
        await builder.python(asked)
    assert len(index.asked) == asks


async def test_an_unreachable_index_is_no_one_s_fault_but_the_networks(
    index: FakeIndex, builder: LocalBuilder
) -> None:
    """Without network and cache it is infrastructure, and the same builder succeeds once the index is back."""
    asked = request(index.add(make_wheel("demo", "1.0")), on_behalf_of="submission")
    index.failing = 503
    with pytest.raises(NetworkError, match="check the network"):
        await builder.python(asked)
    index.failing = None
    assert (await builder.python(asked)).layer.path.is_dir()


async def test_a_changed_file_on_the_way_is_infrastructure(index: FakeIndex, builder: LocalBuilder) -> None:
    """A mirror that serves other bytes than its page names is not the recipe's fault."""
    name, content = make_wheel("demo", "1.0")
    asked = request(index.add((name, content)))
    index.projects["demo"][name] = content + b"\0"
    index.told_hashes[name] = sha256(content)
    with pytest.raises(NetworkError, match="something on the way changes files"):
        await builder.python(asked)


async def test_what_builds_a_source_is_not_in_the_layer(
    index: FakeIndex, builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """Locked build requirements are at hand, with their hashes checked, and leave nothing behind."""
    helper = index.add(make_wheel("helper", "1.0"))
    index.add(make_wheel("helper", "2.0"))
    line = index.add(make_sdist("built", "2.0", extra="import helper; assert helper.version == '1.0'"))
    environment = await builder.python(request(line, build_requirements=[helper]))
    code = "import importlib.metadata as m; print([d.metadata['Name'] for d in m.distributions()])"
    assert await inside(provider, environment, code, tmp_path / "work") == "['built']"
    with pytest.raises(TaskError, match="hash mismatch"):
        await builder.python(request(line, build_requirements=[helper[:-64] + "0" * 64]))


async def test_a_submissions_own_requirements_are_resolved(
    index: FakeIndex, builder: LocalBuilder, provider: SandboxProvider, tmp_path: Path
) -> None:
    """Lines that no one locked are resolved with what they need, up to the cut-off, sources included."""
    index.add(make_wheel("helper", "1.0"))
    index.add(make_wheel("helper", "2.0"), uploaded="2030-01-01T00:00:00Z")
    index.add(make_sdist("built", "2.0"))
    index.add(make_wheel("demo", "1.0", requires=("helper>=1",)))
    asked = ResolvedRequest(
        python=MINOR, requirements=("demo>=1.0  # the library", "", "built"), exclude_newer="2024-01-01"
    )
    environment = await builder.submission_environment(asked)
    code = (
        "import importlib.metadata as m; print(sorted(d.metadata['Name'] + d.version for d in m.distributions()))"
    )
    assert await inside(provider, environment, code, tmp_path / "work") == "['built2.0', 'demo1.0', 'helper1.0']"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-r /etc/passwd", "is not a requirement by name"),
        ("--index-url http://evil.test/", "is not a requirement by name"),
        ("demo @ file:///etc/passwd", "required by address"),
        ("git+https://evil.test/x", "is not a requirement by name"),
        ("absent>=1", "unknown package"),
        ("demo==1.0\nhelper==2.0", "is not a requirement by name"),
    ],
)
async def test_hostile_requirement_lines_are_the_submissions_fault(
    index: FakeIndex, builder: LocalBuilder, line: str, expected: str
) -> None:
    """Options, addresses, paths and unknown names are refused with a sentence."""
    index.add(make_wheel("demo", "1.0"))
    with pytest.raises(SubmissionError, match=expected):
        await builder.submission_environment(ResolvedRequest(python=MINOR, requirements=(line,)))


async def test_a_cancelled_build_leaves_nothing(index: FakeIndex, builder: LocalBuilder, tmp_path: Path) -> None:
    """When no one waits any more the build ends, its folder is gone, and the next one starts clean."""
    line = index.add(make_sdist("slow", "1.0", extra="import time; time.sleep(60)"))
    asking = asyncio.ensure_future(builder.python(request(line)))
    while not index.files_asked():  # noqa: ASYNC110  # the index is another thread
        await asyncio.sleep(0.02)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert [path for path in (tmp_path / "cache/layers/python").iterdir() if path.is_dir()] == []


async def test_without_a_registry_cache_nothing_fetched_is_kept(
    index: FakeIndex, provider: SandboxProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who wants no fetched files kept finds none, neither in the cache nor among temporary files."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    settings = Settings(cache_dir=tmp_path / "cache", registry_cache=False)
    builder = LocalBuilder(settings, provider, index.configuration())
    await builder.python(request(index.add(make_wheel("demo", "1.0"))))
    assert not (tmp_path / "cache/registry").exists()
    # An ordinary user's programs make the place of scratch folders anew here.
    place = tmp_path / "tmp" / f"groundup-{os.geteuid()}"
    assert {*(tmp_path / "tmp").iterdir()} <= {place}
    assert {path.name for path in place.glob("*")} <= {"scratch", "systems"}  # the latter is of this machine
    assert not list(place.glob("scratch/*"))
