"""Where a fleet's scheduler is, and the keys that let a driver and nodes in."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from groundup.domain.errors import MachineError, UsageError
from groundup.domain.records import Record, plainly
from groundup.fleet.extra import distributed
from groundup.trees.walking import read_regular

_FILE_BYTES = 1024 * 1024
_PATIENCE_S = 15.0
_CLOCKS_APART = timedelta(days=2)
_KEPT = timedelta(days=365)
"""A fleet's keys are good for so long."""


class FleetAddress(Record):
    """A scheduler's address; with keys, all of its connections are encrypted and only their holders get in."""

    scheduler: str = Field(description="`tls://HOST:PORT` or `tcp://HOST:PORT`")
    certificate: str | None = Field(default=None, description="PEM; everybody has it, and it has signed itself")
    key: str | None = Field(default=None, description="PEM")

    @property
    def is_open(self) -> bool:
        """Whether anyone who reaches the port may work on it."""
        return self.key is None


def read_address(text: str) -> FleetAddress:
    """Return the address that *text* is, or that the file of this name holds. Raises `UsageError`."""
    if "\n" in text or "{" in text:  # never shown, for it may hold the fleet's key
        raise UsageError("that is what an address file holds; give the name of the file")
    if "://" in text:
        return FleetAddress(scheduler=text)
    path = Path(text)
    try:
        return parsed(read_regular(path, _FILE_BYTES), f"the address file {text}")
    except OSError as error:
        raise UsageError(
            f"{text} is neither an address such as tcp://host:8786 nor a file that `groundup fleet up "
            f"--address-file` wrote: {error.strerror or error}"
        ) from error


def parsed(content: str | bytes, where: str) -> FleetAddress:
    """Return the address that *content* of *where* holds as JSON. Raises `UsageError`."""
    try:
        return FleetAddress.model_validate_json(content)
    except ValidationError as error:
        raise UsageError(f"{where} holds no fleet's address: {plainly(error.errors()[0])}") from error


def security(address: FleetAddress) -> Any:
    """Return how Dask connects to *address*: None for an open one. Raises `UsageError` for keys that are wrong."""
    if address.key is None:
        if address.scheduler.startswith("tls:"):
            raise UsageError(
                f"{address.scheduler} takes keys; give the file that `groundup fleet up` wrote instead"
            )
        return None
    try:
        pairs = {
            f"tls_{role}_{kind}": pem
            for role in ("client", "scheduler", "worker")
            for kind, pem in (("cert", address.certificate), ("key", address.key))
        }
        made = distributed.Security(require_encryption=True, tls_ca_file=address.certificate, **pairs)
        made.get_connection_args("client")
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(f"the keys of the fleet at {address.scheduler} cannot be used: {error}") from error
    return made


async def reach(address: FleetAddress) -> None:
    """Connect to *address* once: Dask tries wrong keys over and over. Raises `UsageError`, or `MachineError`."""
    place, keys = urlsplit(address.scheduler), security(address)
    context = keys and keys.get_connection_args("client")["ssl_context"]
    try:
        async with asyncio.timeout(_PATIENCE_S):
            _, writer = await asyncio.open_connection(place.hostname, place.port, ssl=context)
        writer.close()
    except ssl.SSLError as error:
        raise UsageError(
            f"the scheduler at {address.scheduler} does not take these keys; give the file that its own "
            "`groundup fleet up` wrote"
        ) from error
    except (OSError, ValueError) as error:
        raise unreached(address, error) from error


def unreached(address: FleetAddress, error: Exception) -> MachineError:
    """Return what to raise where no scheduler answers."""
    return MachineError(
        f"no Dask scheduler answers at {address.scheduler}: {error}; start one with `groundup fleet up`"
    )


def with_new_keys(scheduler: str) -> FleetAddress:
    """Return *scheduler* with keys that are made now and stand in no file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "groundup fleet")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_APART)  # Dask's own are refused by a node whose clock is a second behind
        .not_valid_after(now + _KEPT + _CLOCKS_APART)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    return FleetAddress(
        scheduler=scheduler,
        certificate=signed.public_bytes(pem).decode(),
        key=key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain).decode(),
    )
