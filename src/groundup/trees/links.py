"""Where symbolic links lead, decided from their texts alone: nothing on the disk is followed."""

from collections.abc import Mapping

Parts = tuple[str, ...]

_MAX_HOPS = 40
"""What Linux follows before it answers ELOOP."""


def why_refused(link: Parts, links: Mapping[Parts, str]) -> str | None:
    """Say why the link at *link* must not be kept in a tree with these *links*; None when it stays inside.

    A link to something inside that does not exist is kept: it cannot lead anywhere else.
    """
    if links[link].startswith("/"):
        return "absolute link"
    at: list[str] = list(link[:-1])
    todo = links[link].split("/")[::-1]
    hops = 1
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return "link leads outside"
            at.pop()
            continue
        at.append(part)
        target = links.get(tuple(at))
        if target is None:
            continue
        hops += 1
        if hops > _MAX_HOPS:
            return "link in a circle"
        if target.startswith("/"):
            return "link leads to an absolute link"
        at.pop()
        todo.extend(target.split("/")[::-1])
    return None
