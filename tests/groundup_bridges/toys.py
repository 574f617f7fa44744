"""A suite whose tasks a container could grade, and a builder of what they need."""

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.environments.requests import AnySource, Layer, PythonRequest, SourceRequest
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from groundup.suites.base import AtHand, Needs
from tests.runs.toy import ToySuite
from tests.runs.toy_agent import EmptyBuilder

SUITE = "tests.groundup_bridges.toys:create"
SECRET = "the original's own text"


class LibrarySuite(ToySuite, AtHand):
    """Two tasks with an environment and an original."""

    @override
    def needs(self, task: Task) -> Needs:
        """Return them."""
        source = SourceRequest(name="toy", version="1", sha256="0" * 64)
        return Needs(python="3.11", environment=PythonRequest(python="3.11"), source=source)


def create(settings: Settings) -> LibrarySuite:
    """Return the suite."""
    return LibrarySuite(2, written=True, seeds=({"path": "README", "content": b"Write it."},))


class SourceBuilder(EmptyBuilder):
    """Has originals, too."""

    @override
    async def source(self, request: AnySource) -> Layer:
        """Return one."""
        path = self._root / "original"
        path.mkdir(parents=True, exist_ok=True)
        (path / "toy.py").write_text(SECRET)
        return Layer(digest="sha256:1", kind="source", path=path)


def create_builder(settings: Settings, provider: SandboxProvider) -> SourceBuilder:
    """Return the builder."""
    return SourceBuilder(settings.cache_dir)
