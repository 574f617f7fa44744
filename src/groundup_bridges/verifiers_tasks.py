"""The tasks of a server, `groundup serve`, as a taskset of verifiers. Needs `pip install 'groundup[verifiers]'`.

verifiers' own client of NeMo Gym plays the episodes; this says which there are, and how long their calls may take.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
from verifiers.v1.dialects.responses import ResponsesDialect
from verifiers.v1.mcp import Toolset
from verifiers.v1.runtimes import Runtime
from verifiers.v1.taskset import Taskset
from verifiers.v1.tasksets.nemo_gym.taskset import NeMoGymConfig, NeMoGymData, NeMoGymTask, NeMoGymTaskConfig
from verifiers.v1.tasksets.nemo_gym.toolset import NeMoGymToolset
from verifiers.v1.trace import Trace

_LONGEST_S = 3600.0
"""For a call: hidden tests may take a while, and an environment is built once."""


class GroundupTaskConfig(NeMoGymTaskConfig):
    """How one task's calls are made."""

    request_timeout: float = _LONGEST_S


class GroundupConfig(NeMoGymConfig):
    """Which server, and which of its tasks."""

    url: str = "http://127.0.0.1:8080"
    """Where `groundup serve` answers."""
    token: str | None = None
    """What the server wants to know its clients by."""
    split: str | None = None
    """One of the server's splits; None: its first."""
    dataset: Path = Path()
    """Not used: the server has the rows."""
    task: GroundupTaskConfig = GroundupTaskConfig()


class GroundupTask(NeMoGymTask):
    """One task, known by its name and its data's version."""

    @property
    def key(self) -> str:
        """Return what stays the same from run to run."""
        row = self.data.row
        return f"{row['suite']}/{row['task']}/{row['data_version']}"

    async def setup(self, trace: Trace, runtime: Runtime) -> None:
        """Open the episode; ask again as long as it waits for a slot, or for its environment."""
        while True:
            try:
                await super().setup(trace, runtime)
            except httpx.HTTPStatusError as error:
                if error.response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                    raise
                trace.state.cookies.update(error.response.cookies)  # of the session that waits
                await asyncio.sleep(2)
            else:
                return


class GroundupTaskset(Taskset[GroundupTask, GroundupConfig]):
    """All tasks of a split."""

    @classmethod
    def toolsets(cls, config: GroundupConfig) -> list[Toolset]:
        """Return what passes `bash` and `submit` on to the server."""
        return [NeMoGymToolset(config.tools)]

    def load(self) -> Iterator[GroundupTask]:
        """Ask the server for its tasks. Raises `httpx.HTTPError` where none answers."""
        given, dialect = self.config, ResponsesDialect()
        headers = {} if given.token is None else {"Authorization": f"Bearer {given.token}"}
        asked = {} if given.split is None else {"split": given.split}
        rows = httpx.get(f"{given.url}/rows", params=asked, headers=headers, trust_env=False, timeout=60)
        rows.raise_for_status()
        made = given.task.model_copy(update={"resources_url": given.url, "headers": headers})
        for line in rows.text.splitlines():
            row = json.loads(line)
            request = dialect.parse_request(row["responses_create_params"])
            yield GroundupTask(NeMoGymData(name=row["task"], prompt=request.messages, row=row), made)
