"""Lock files that name tarballs by a registry's address."""

import pytest

from groundup.registries.npm.pages import relocated

GATEWAY = "http://127.0.0.1:4000/"


@pytest.mark.parametrize(
    ("named", "inside"),
    [
        ("https://registry.example/ms/-/ms-2.1.3.tgz", "ms/-/ms-2.1.3.tgz"),
        ("https://registry.example/@types/ms/-/ms-2.1.0.tgz", "@types/ms/-/ms-2.1.0.tgz"),
        ("https://mirror.example/api/npm/all/@types/ms/-/ms-2.1.0.tgz", "@types/ms/-/ms-2.1.0.tgz"),
        ("https://mirror.example/npm/@types/ms/-/@types/ms-2.1.0.tgz", "@types/ms/-/ms-2.1.0.tgz"),
        ("http://127.0.0.1:38353/express/-/express-4.22.3.tgz", "express/-/express-4.22.3.tgz"),
    ],
)
def test_tarballs_of_registries_are_found_at_the_gateway(named: str, inside: str) -> None:
    """Whatever registry a lock was made with, its tarballs are the gateway's; their hashes stay."""
    line = f'  resolved "{named}#574c8138ce1d2b5861f0b44579dbadd60c6615b2"\n'
    assert relocated(line, GATEWAY) == line.replace(named, f"{GATEWAY}{inside}")


def test_nothing_else_is_rewritten() -> None:
    """Addresses of Git hosts and of other files stay as they are, so a client says itself what it cannot reach."""
    text = (
        '  resolved "https://git.example/o/r/tar.gz/abc"\n  resolved "https://files.example/tool-1.0.tgz"\n'
        '  resolved "git+https://git.example/o/r.git#abc"\n  integrity sha512-a/-/b==\n'
    )
    assert relocated(text, GATEWAY) == text
