"""What the names of groups and files say about the kind of the dependencies in them."""

import re

from groundup.manifests.records import Kind

_WORD = re.compile(r"[a-z0-9]+")
_DEV = frozenset({"dev", "devel", "develop", "development"})
_TEST = frozenset({"test", "tests", "testing", "unittest", "unittests", "pytest"})


def group_kind(name: str, default: Kind = Kind.GROUP) -> Kind:
    """Return the kind that a group's or a file's *name* says: test, dev, or the default."""
    words = set(_WORD.findall(name.lower()))
    if words & _TEST:
        return Kind.TEST
    return Kind.DEV if words & _DEV else default
