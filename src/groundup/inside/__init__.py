"""Programs that run inside sandboxes, beside what strangers wrote: all of them, and nothing else.

Each file is carried in alone, so it imports no other part of groundup and no package that is not there anyhow; a
driver that waits gets the stopwatch written into it. What these programs say was said beside untrusted code:
whoever asked checks it outside. The host imports from here only what both sides must agree on.

supervisor   process 1 of each sandbox: starts and ends commands
netcat       the `nc` of guests
stopwatch    how much time a guest had; the launcher and the host count by it, too
runner       hidden tests of a library, by pytest; `failing` makes them fail, `undoing` takes back what failed ones
             leave in folders; `demands` says what a failed one demanded, `lacking` which names they use and do not
             find; `Runner.java` runs JUnit's
exchanges    the last HTTP exchange of a service's test
official_driver, legacy_driver    what RepoGenesis' containers and scripts do with a service
shim         what stands in the place of programs that act starts
guest_files, stand_in_pip    an agent's `read` and `edit`; pip by uv
reached      bytecode of the modules that names lead to, while a layer is built
"""

from pathlib import Path


def source_of(name: str) -> bytes:
    """Return the text of the program of this file name. Where it judges, it decides verdicts as a recipe does."""
    return Path(__file__).with_name(name).read_bytes()
