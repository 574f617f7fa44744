"""NeMo Gym collects a rollout by its own agent and a scripted model: address, commands; prints rewards as JSON.

Rows and configuration are those that the server gives.
"""

import asyncio
import json
import socket
import sys
import tempfile
from pathlib import Path
from urllib.request import urlopen

import uvicorn
from nemo_gym.rollout_collection import (  # type: ignore[import-not-found] # of its own environment
    RolloutCollectionConfig,
    RolloutCollectionHelper,
)
from nemo_gym.server_utils import (  # type: ignore[import-not-found]
    GlobalAIOHTTPAsyncClientConfig,
    ServerClient,
    set_global_aiohttp_client,
)
from omegaconf import OmegaConf  # type: ignore[import-not-found]
from responses_api_agents.simple_agent.app import (  # type: ignore[import-not-found]
    SimpleAgent,
    SimpleAgentConfig,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

address, *commands = sys.argv[1:]
folder = Path(tempfile.mkdtemp())
(folder / "rows.jsonl").write_bytes(urlopen(f"{address}/rows").read())
configuration = OmegaConf.create(urlopen(f"{address}/nemo_gym.yaml").read().decode())


def called(name: str, arguments: dict[str, str]) -> dict[str, str]:
    """Return the call of a tool as a model says it."""
    return {"type": "function_call", "call_id": name, "name": name, "arguments": json.dumps(arguments)}


async def model(request: Request) -> Response:
    """Say the next call: as many were made as there are results."""
    given = (await request.json())["input"]
    done = sum(one.get("type") == "function_call_output" for one in given)
    script = [*(called("bash", {"command": command}) for command in commands), called("submit", {})]
    words = {"type": "output_text", "text": "Done.", "annotations": []}
    last = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [words]}
    output = [script[done] if done < len(script) else last]
    known = {"id": "r", "created_at": 0, "model": "scripted", "object": "response", "output": output}
    return JSONResponse({**known, "parallel_tool_calls": False, "tool_choice": "auto", "tools": []})


async def main() -> None:
    """Serve the model and the agent of the configuration, and collect a rollout of each row."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [listener.getsockname()[1] for listener in listeners]
    configuration.policy_model = {"responses_api_models": {"scripted": {"host": "127.0.0.1", "port": ports[0]}}}
    agent = configuration.groundup_agent.responses_api_agents.simple_agent
    agent.update({"host": "127.0.0.1", "port": ports[1]})
    nowhere = {"host": "127.0.0.1", "port": 1}
    client = ServerClient(head_server_config=nowhere, global_config_dict=configuration)
    set_global_aiohttp_client(GlobalAIOHTTPAsyncClientConfig())
    config = SimpleAgentConfig(name="groundup_agent", **OmegaConf.to_container(agent))
    apps = [
        Starlette(routes=[Route("/v1/responses", model, methods=["POST"])]),
        SimpleAgent(config=config, server_client=client).setup_webserver(),
    ]
    for app, listener in zip(apps, listeners, strict=True):
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        asyncio.get_running_loop().create_task(server._serve([listener]))

    class Helper(RolloutCollectionHelper):  # type: ignore[misc] # of another package
        def setup_server_client(self, head_server_config: object = None) -> object:
            """Return the client of these servers: there is no head server."""
            return client

    given = {"input_jsonl_fpath": str(folder / "rows.jsonl"), "output_jsonl_fpath": str(folder / "rollouts.jsonl")}
    done = await Helper().run_from_config(RolloutCollectionConfig(**given))
    (measured,) = json.loads((folder / "rollouts_aggregate_metrics.json").read_text())
    rewards = [one["reward"] for one in done]
    assert measured["key_metrics"]["mean/reward"] == sum(rewards) / len(rewards)
    assert [one["mean/reward"] for one in measured["group_level_metrics"]] == rewards
    print(json.dumps(rewards))


asyncio.run(main())
