"""NeMo Gym's own agent plays an episode with a scripted model: address, a command; prints the reward as JSON."""

import asyncio
import json
import socket
import sys
from urllib.request import urlopen

import uvicorn
from nemo_gym.server_utils import (  # type: ignore[import-not-found] # of its own environment
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
row = json.loads(urlopen(f"{address}/rows").readline())


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
    """Serve the model and the agent, and ask the agent to run the row."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [listener.getsockname()[1] for listener in listeners]
    places = dict(zip(("model", "agent"), ports, strict=True)) | {"gym": int(address.rpartition(":")[2])}
    names = {name: {"any": {"any": {"host": "127.0.0.1", "port": port}}} for name, port in places.items()}
    nowhere = {"host": "127.0.0.1", "port": 1}
    client = ServerClient(head_server_config=nowhere, global_config_dict=OmegaConf.create(names))
    set_global_aiohttp_client(GlobalAIOHTTPAsyncClientConfig())
    config = SimpleAgentConfig(
        name="agent",
        host="127.0.0.1",
        port=ports[1],
        entrypoint="app.py",
        domain="coding",
        resources_server={"type": "resources_servers", "name": "gym"},
        model_server={"type": "responses_api_models", "name": "model"},
    )
    apps = [
        Starlette(routes=[Route("/v1/responses", model, methods=["POST"])]),
        SimpleAgent(config=config, server_client=client).setup_webserver(),
    ]
    for app, listener in zip(apps, listeners, strict=True):
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        asyncio.get_running_loop().create_task(server._serve([listener]))
    answer = await client.post(server_name="agent", url_path="/run", json=row)
    done = json.loads(await answer.read())
    print(json.dumps([done["reward"]]))


asyncio.run(main())
