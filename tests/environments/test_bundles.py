"""What one machine warmed is taken to another in one file, whole or not at all."""

import sys
import tarfile
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.environments.bundles import WarmBundle, take_bundle, this_machine, used_layers, write_bundle
from groundup.environments.interpreters import present_interpreter
from groundup.environments.layers import Built, layer_store
from groundup.environments.requests import Layer
from groundup.settings import Settings
from groundup.trees.archives import extract_archive
from tests.needs import lack

DIGEST = "sha256:" + "1" * 64


async def made(settings: Settings) -> Layer:
    """Build a layer with a program and an absolute link, as environments have them."""

    async def build(room: Path) -> Built:
        (room / "tree" / "bin").mkdir(parents=True)
        (room / "tree" / "bin" / "tool").write_text("#!/bin/sh\n")
        (room / "tree" / "bin" / "tool").chmod(0o755)
        (room / "tree" / "bin" / "python").symlink_to("/opt/python/bin/python3")
        return Built(built={"python": "3.11.2"})

    return await layer_store(settings).get("python", DIGEST, build)


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    """The machine with a network."""
    return Settings(cache_dir=tmp_path / "here")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Settings:
    """The one without."""
    return Settings(cache_dir=tmp_path / "elsewhere")


async def bundled(path: Path, settings: Settings, minors: tuple[str, ...] = ()) -> Path:
    """Write a bundle of the layer."""
    with used_layers() as used:
        await made(settings)
    await write_bundle(path, "toy", ["one"], list(used.layers.values()), minors, settings, lambda text: None)
    return path


async def test_layers_arrive_as_they_were_and_what_is_there_stays(
    here: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    """Modes, links and what the build reported; a second time nothing is touched."""
    bundle = await bundled(tmp_path / "b", here)
    taken = await take_bundle(bundle, elsewhere, lambda text: None)
    assert (taken.suite, taken.tasks) == ("toy", ("one",))
    layer = layer_store(elsewhere).find("python", DIGEST)
    assert layer is not None
    assert layer.built == {"python": "3.11.2"}
    assert (layer.path / "bin" / "tool").stat().st_mode & 0o111
    assert (layer.path / "bin" / "python").readlink() == Path("/opt/python/bin/python3")
    (layer.path / "bin" / "mine").touch()
    await take_bundle(bundle, elsewhere, lambda text: None)
    assert (layer.path / "bin" / "mine").exists()


async def test_an_interpreter_travels_along_and_is_found(
    here: Settings, elsewhere: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no other program of its version is on PATH; what somebody installed into it stays behind."""
    other = "3.10" if sys.version_info[:2] != (3, 10) else "3.12"
    found = await present_interpreter(other, tmp_path / "none")
    if found is None or found.prefix.is_relative_to("/usr"):
        lack(f"Python {other}", "outside of the system's folders")
    bundle = await bundled(tmp_path / "b", here, (other,))
    await take_bundle(bundle, elsewhere, lambda text: None)
    for name in ("PATH", "HOME", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    taken = await present_interpreter(other, elsewhere.cache_dir / "interpreters")
    assert taken is not None
    assert taken.prefix.is_relative_to(elsewhere.cache_dir)
    assert not list(taken.prefix.glob("lib/python*/site-packages/*"))


@pytest.mark.parametrize("fault", ["none", "no bundle", "cut", "changed", "machine", "escape"])
async def test_what_is_no_whole_bundle_of_such_a_machine_is_refused(
    here: Settings, elsewhere: Settings, tmp_path: Path, fault: str
) -> None:
    """One sentence, and nothing in the cache that is not whole."""
    bundle = await bundled(tmp_path / "b", here)
    extract_archive(bundle, tmp_path / "parts")
    record = WarmBundle.model_validate_json((tmp_path / "parts" / "bundle.json").read_bytes())
    if fault == "none":
        bundle = tmp_path / "missing"
    elif fault == "no bundle":
        bundle.write_bytes(b"x" * 2000)
    elif fault == "cut":
        bundle.write_bytes(bundle.read_bytes()[:600])
    else:
        changed: dict[str, dict[str, object]] = {
            "changed": {"layers": (record.layers[0].but(sha256="0" * 64),)},
            "machine": {"machine": "Plan9 mips none"},
            "escape": {"layers": (record.layers[0].but(file="../../etc/passwd"),)},
        }
        record = record.but(**changed[fault])
        (tmp_path / "parts" / "bundle.json").write_text(record.model_dump_json())
        with tarfile.open(bundle, "w") as tar:
            for name in ("layers/0.tar.zst", "bundle.json"):
                tar.add(tmp_path / "parts" / name, name)
    with pytest.raises((UsageError, InfrastructureError), match=r"bundle|made for Plan9"):
        await take_bundle(bundle, elsewhere, lambda text: None)
    assert layer_store(elsewhere).find("python", DIGEST) is None


def test_this_machine_is_named_by_what_layers_depend_on() -> None:
    """System, architecture and C library."""
    assert len(this_machine().split()) >= 3
