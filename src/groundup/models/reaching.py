"""Finding out, before anything relies on an endpoint, that it is there: a question that costs nothing.

The list of models is asked for. What only a paid call can show, such as an empty account, the first call shows.
"""

import asyncio
import time
from typing import TYPE_CHECKING

from groundup.domain.steps import at_step
from groundup.models.arriving import silence_told
from groundup.models.failures import connection_trouble, is_page, is_slash_more, stranger
from groundup.models.protocol import EndpointUnreachableError, KeyRejectedError, ModelAbsentError
from groundup.models.settings import shown_address

if TYPE_CHECKING:
    from groundup.models.endpoint import ModelEndpoint

_PATH = "/models"
_NOT_READY = (502, 503, 504)
"""Said by a server that loads, or by what stands before one."""
_PAUSE_S = 2.0
_REACHED_S = 20.0
"""For one question, connection and answer together; less where a call has less."""
_WAIT = "`--wait-for-model 10m` waits for a server that starts"


async def reach(endpoint: "ModelEndpoint", wait_s: float = 0.0) -> None:
    """Ask the endpoint for its models; for *wait_s* seconds again while it cannot be connected to or still loads.

    Raises `UnusableModelError` with what to mend. An endpoint without such a list has been reached, too.
    """
    what = f"{endpoint.name} at {shown_address(endpoint.base_url)}"
    began, tries = time.monotonic(), 0
    while True:
        tries += 1
        trouble = await _trouble(endpoint, what, may_load=wait_s > 0)
        waited_s = time.monotonic() - began
        if trouble is None or waited_s >= wait_s:
            break
        at_step(f"waiting for {what}: {trouble}, try {tries}, {waited_s:.0f} s")
        await asyncio.sleep(min(_PAUSE_S, wait_s - waited_s))
    if trouble is not None:
        lasted = f" ({tries} tries in {waited_s:.0f} s)" if tries > 1 else ""
        raise EndpointUnreachableError(f"{what} cannot be reached{lasted}: {trouble}")


async def _trouble(endpoint: "ModelEndpoint", what: str, *, may_load: bool) -> str | None:
    """Return why the endpoint cannot be asked now, as far as waiting may help; raise where it does not.

    Calls wait for one that is overloaded, which looks like one that loads: only who *may_load* waits here.
    """
    import httpx

    limit_s = min(_REACHED_S, endpoint.timeout_s)
    try:
        with silence_told():
            response = await endpoint.get(_PATH, limit_s)
        if response.status_code == 404:
            await _refuse_address(endpoint, what)
    except (TimeoutError, httpx.TimeoutException):
        plain = "; a server without TLS wants http://" if endpoint.base_url.startswith("https://") else ""
        return f"no answer within {limit_s:g} s; check --base-url and the network{plain}; {_WAIT}"
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise EndpointUnreachableError(f"{what} cannot be reached: {error}; check --base-url") from error
    except httpx.HTTPError as error:
        trouble = connection_trouble(error)
        return f"{trouble}; {_WAIT}" if "nothing listens" in trouble else trouble
    if response.status_code == 401:
        raise KeyRejectedError(f"{what} rejects the key in {endpoint.key_variable}; set a valid one (HTTP 401)")
    if may_load and response.status_code in _NOT_READY:
        return f"it is not ready (HTTP {response.status_code})"
    other = stranger(response.status_code, response.headers, str(response.url), _PATH)
    moved = is_slash_more(str(response.url), response.headers.get("location", ""))
    if other is not None and response.status_code != 404 and not moved:  # questions may have their route
        raise EndpointUnreachableError(f"{what} {other}")
    return None


async def _refuse_address(endpoint: "ModelEndpoint", what: str) -> None:
    """Raise where the list of models is one folder further down: people forget the /v1."""
    if endpoint.base_url.endswith("/v1"):
        return
    response = await endpoint.get("/v1/models", _REACHED_S)
    if response.status_code == 200 and not is_page(response.headers):
        raise ModelAbsentError(f"{what} is not there: give --base-url {shown_address(endpoint.base_url)}/v1")
