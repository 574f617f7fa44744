"""Which programs an agent found, with their versions: the record that a run's lock keeps, and how two differ."""

from collections.abc import Iterator

from pydantic import Field

from groundup.domain.digests import short
from groundup.domain.names import count
from groundup.domain.records import Record

HOST, LISTED = "host", "listed"
_SHOWN = 5


class Inventory(Record):
    """The programs on the PATH of a system."""

    origin: str = Field(description="host: this machine's own; listed: the fixed list; otherwise an image's name")
    digest: str = Field(description="of the programs with their versions; of an image, its own")
    programs: dict[str, str] = Field(
        default={}, description="name -> package and version, or the digest of a program that no package has"
    )

    @property
    def words(self) -> str:
        """What to call it in a sentence."""
        whose = {HOST: "the host's", LISTED: "the listed"}.get(self.origin, f"{self.origin}'s")
        return f"{whose} {count(len(self.programs), 'program')} ({short(self.digest)})"


def differing_programs(base: Inventory, other: Inventory) -> str:
    """Say which programs two inventories have otherwise; empty where they are the same."""
    if base.digest == other.digest:
        return ""
    return "; ".join(_differences(base.programs, other.programs))


def _differences(base: dict[str, str], other: dict[str, str]) -> Iterator[str]:
    changed = sorted(name for name in base.keys() & other.keys() if base[name] != other[name])
    for version in dict.fromkeys((base[name], other[name]) for name in changed[:_SHOWN]):
        yield " and ".join(version)
    if len(changed) > _SHOWN:
        yield f"{len(changed) - _SHOWN} more in other versions"
    for words, names in (("first", base.keys() - other.keys()), ("second", other.keys() - base.keys())):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield f"only the {words} has {', '.join(sorted(names)[:_SHOWN])}{more}"
