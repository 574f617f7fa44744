"""Tests of the builder against the package index that this user's clients are configured for."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.local import LocalBuilder
from groundup.environments.requests import PythonRequest, ResolvedRequest, SourceRequest
from groundup.registries.cache import FetchCache
from groundup.registries.pypi.client import PyPIClient, pypi_settings
from groundup.registries.settings import RegistrySettings
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings, environment
from groundup.trees.walking import remove_tree
from tests.environments.conftest import MINOR, inside

pytestmark = [pytest.mark.end_to_end, pytest.mark.registry, pytest.mark.needs("package index")]

CUTOFF = "2024-01-31"


@pytest.fixture
async def configuration() -> RegistrySettings:
    """The user's own configuration."""
    return await pypi_settings(environment())


async def test_a_real_environment_is_built_and_needs_no_network_the_second_time(
    configuration: RegistrySettings, provider: SandboxProvider, tmp_path: Path
) -> None:
    """Real packages are resolved up to a date and installed; with the index gone the same layer is built again."""
    settings = Settings(cache_dir=tmp_path / "cache")
    asked = ResolvedRequest(python=MINOR, requirements=("tenacity", "docopt"), exclude_newer=CUTOFF)
    online = LocalBuilder(settings, provider, configuration)
    lines = (await online.resolve(asked)).lines
    assert [line.partition(" ")[0] for line in lines] == ["docopt==0.6.2", "tenacity==8.2.3"]
    request = PythonRequest(python=MINOR, requirements=lines, exclude_newer=CUTOFF)
    first = await online.python(request)
    code = "import docopt, tenacity; print(docopt.__version__)"
    assert await inside(provider, first, code, tmp_path / "work") == "0.6.2"
    remove_tree(tmp_path / "cache/layers")
    nowhere = configuration.but(proxy=SecretStr("http://127.0.0.1:9"))
    offline = LocalBuilder(settings, provider, nowhere)
    second = await offline.python(request)
    assert second.layer.digest == first.layer.digest
    assert second.layer.built["files_from_cache"] == second.layer.built["files"]
    with pytest.raises(NetworkError):
        await offline.source(SourceRequest(name="six", version="1.16.0", sha256="0" * 64))


async def test_a_refused_name_cannot_be_had_as_a_dependency(
    configuration: RegistrySettings, provider: SandboxProvider, tmp_path: Path
) -> None:
    """The task's own package is refused also where another one needs it."""
    asked = ResolvedRequest(
        python=MINOR,
        requirements=("python-dateutil==2.8.2",),
        refused=("Six",),
        exclude_newer=CUTOFF,
        on_behalf_of="recipe",
    )
    builder = LocalBuilder(Settings(cache_dir=tmp_path / "cache"), provider, configuration)
    with pytest.raises(TaskError, match="forbids installing 'six'"):
        await builder.resolve(asked)


async def test_a_real_source_is_fetched_by_hash(
    configuration: RegistrySettings, provider: SandboxProvider, tmp_path: Path
) -> None:
    """A source distribution of the index is unpacked without its top folder."""
    registry = PyPIClient(configuration, FetchCache(tmp_path / "cache/registry"))
    page = (await registry.page("six")).page
    await registry.close()
    (file,) = [file for file in page.files if file.is_source and file.version == "1.16.0"]
    request = SourceRequest(name="six", version="1.16.0", sha256=file.hashes["sha256"])
    layer = await LocalBuilder(Settings(cache_dir=tmp_path / "cache"), provider, configuration).source(request)
    assert (layer.path / "six.py").is_file()
