"""Finding out, before anything relies on an endpoint, that it is there: a question that costs nothing.

The list of models is asked for. What only a paid call can show, such as an empty account, the first call shows.
"""

import asyncio
import ssl
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from groundup.domain.steps import at_step
from groundup.models.protocol import EndpointUnreachableError, KeyRejectedError, ModelAbsentError
from groundup.models.settings import shown_address

if TYPE_CHECKING:
    import httpx

    from groundup.models.endpoint import ModelEndpoint

_PAUSE_S = 2.0
_REACHED_S = 20.0
"""For one question, connection and answer together."""
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
        lasted = f" ({tries} tries in {waited_s:.0f} s)" if wait_s else ""
        raise EndpointUnreachableError(f"{what} cannot be reached{lasted}: {trouble}")


async def _trouble(endpoint: "ModelEndpoint", what: str, *, may_load: bool) -> str | None:
    """Return why the endpoint cannot be asked now, as far as waiting may help; raise where it does not.

    Calls wait for one that is overloaded, which looks like one that loads: only who *may_load* waits here.
    """
    import httpx

    try:
        response = await endpoint.get("/models", _REACHED_S)
        if response.status_code == 404:
            await _refuse_address(endpoint, what)
    except (TimeoutError, httpx.TimeoutException):
        return f"no answer within {_REACHED_S:g} s; check --base-url and the network; {_WAIT}"
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise EndpointUnreachableError(f"{what} cannot be reached: {error}; check --base-url") from error
    except httpx.HTTPError as error:
        return _said(error)
    if response.status_code == 401:
        raise KeyRejectedError(f"{what} rejects the key in {endpoint.key_variable}; set a valid one (HTTP 401)")
    if response.status_code == 407 or (response.status_code != 404 and _is_page(response)):
        raise EndpointUnreachableError(
            f"{what} answers with a web page in place of JSON (HTTP {response.status_code}): a proxy or a login "
            "stands between, or the address is wrong; check --base-url and the proxy settings"
        )
    return "it is not ready (HTTP 503)" if may_load and response.status_code == 503 else None


def _said(error: "httpx.HTTPError") -> str:
    """Return what a failed connection means, and what mends it."""
    causes = list(_chain(error))
    text = " ".join(map(str, causes))
    if any(isinstance(one, ssl.SSLError) for one in causes):
        return (
            f"its certificate cannot be verified ({str(error)[:120]}); name the file of the authority in "
            "SSL_CERT_FILE, or check https:// in --base-url"
        )
    if "Name or service not known" in text or "name resolution" in text or "nodename" in text:
        return "no such host is known; check --base-url"
    if any(isinstance(one, ConnectionRefusedError) for one in causes) or "All connection attempts failed" in text:
        return f"nothing listens there (connection refused); start the server, or check --base-url; {_WAIT}"
    return f"{str(error) or type(error).__name__}; check --base-url and the network"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_page(response: "httpx.Response") -> bool:
    return "html" in response.headers.get("content-type", "")


async def _refuse_address(endpoint: "ModelEndpoint", what: str) -> None:
    """Raise where the list of models is one folder further down: people forget the /v1."""
    if endpoint.base_url.endswith("/v1"):
        return
    response = await endpoint.get("/v1/models", _REACHED_S)
    if response.status_code == 200 and not _is_page(response):
        raise ModelAbsentError(f"{what} is not there: give --base-url {shown_address(endpoint.base_url)}/v1")
