"""Lock files that name tarballs by a registry's address. Pure.

npm asks the configured registry whatever its lock file names. Yarn 1 asks what yarn.lock names, and so needs
another yarn.lock inside a sandbox; hashes in it stay, so what is installed is the same.
"""

import re

_TARBALL = re.compile(
    r"https?://[^\s\"'#,()\[\]{}]*?/(?P<name>(?:@[^/\s\"']+/|@?[^/\s\"']+%2[fF])?[^/@\s\"'%]+)"
    r"/-/(?:[^\s\"'#,()\[\]{}]*/)?(?P<file>[^/\s\"'#,()\[\]{}]+\.tgz)"
)


def relocated(text: str, address: str) -> str:
    """Return a lock file with every registry's tarballs at the gateway *address* (as given, with a last slash)."""
    return _TARBALL.sub(lambda match: f"{address}{match['name']}/-/{match['file']}", text)
