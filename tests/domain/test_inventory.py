"""Programs that agents found, in words, and how two inventories differ."""

import pytest

from groundup.domain.inventory import Inventory, differing_programs


def of(digest: str, **programs: str) -> Inventory:
    """Return an inventory of this machine."""
    return Inventory(origin="host", digest=f"sha256:{digest}", programs=programs)


def many(number: int, version: str, start: int = 0) -> dict[str, str]:
    """Return programs p00, p01, ..."""
    return {f"p{at:02}": f"p{at:02} {version}" for at in range(start, start + number)}


def test_an_inventory_has_a_name() -> None:
    """With how much is in it, and the begin of its digest."""
    digest = "0123456789abcdef0123"
    words = f"({digest[:16]})"
    assert of(digest, git="git 2").words == f"the host's 1 program {words}"
    assert of(digest).but(origin="listed").words == f"the listed 0 programs {words}"
    assert of(digest, a="1", b="2").but(origin="debian:12").words == f"debian:12's 2 programs {words}"


@pytest.mark.parametrize(
    ("base", "other", "said"),
    [
        (of("1", git="git 2"), of("1", git="git 3"), ""),
        (of("1", git="git 2", b="b 1"), of("2", git="git 3", b="b 1"), "git 2 and git 3"),
        (of("1", sh="bash 5", bash="bash 5"), of("2", sh="bash 6", bash="bash 6"), "bash 5 and bash 6"),
        (of("1", a="1"), of("2", b="1"), "only the first has a; only the second has b"),
        (of("1", **many(5, "1")), of("2", **many(5, "2")), "; ".join(f"p0{n} 1 and p0{n} 2" for n in range(5))),
        (
            of("1", **many(6, "1")),
            of("2", **many(6, "2")),
            "; ".join([*(f"p0{n} 1 and p0{n} 2" for n in range(5)), "1 more in other versions"]),
        ),
        (of("1", **many(5, "1")), of("2"), "only the first has p00, p01, p02, p03, p04"),
        (of("1"), of("2", **many(7, "1")), "only the second has p00, p01, p02, p03, p04 and 2 more"),
        (of("1"), of("2"), ""),
    ],
)
def test_what_differs_is_told_in_part(base: Inventory, other: Inventory, said: str) -> None:
    """Five of a kind; one package with several programs is told once."""
    assert differing_programs(base, other) == said
