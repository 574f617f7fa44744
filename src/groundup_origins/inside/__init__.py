"""Programs that run in sandboxes, beside what strangers wrote. As of `groundup.inside`, each is carried in alone.

listener     the trusted runner's plugin: keeps what lost tests said; has them run again when all are reported
values       by what a wrong value is recognized, and which call gave it first
origins      which line lost a test: by `values`, by `spectrum`, what lost and passing tests run, of which a few
             are `suspects`, and `mends`, which of `changes` of its `functions`, or what is `missing`, makes lost
             ones pass, put into what is `live`
afar         asks a service that carries `watched` for its lines, and tries changes in it; by `blame`, which
             `statements` led to what a test saw
"""

from pathlib import Path


def source_of(name: str) -> bytes:
    """Return the text of the program of this file name."""
    return Path(__file__).with_name(name).read_bytes()
