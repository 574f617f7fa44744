"""Whether a program of the repository ends well though what it checks fails."""

import pytest

from groundup.workflows.endings import swallows
from tests.workflows.made import MadeTree

CLASSES = (
    ("python a.py", "a.py", "try:\n    assert f()\nexcept AssertionError:\n    print(1)\n", True),
    ("python a.py", "a.py", "bad = 0\ntry:\n    assert f()\nexcept AssertionError:\n    bad = 1\n", True),
    ("python a.py", "a.py", "bad = 0\ntry:\n    assert f()\nexcept Exception:\n    bad = 1\nexit(bad)\n", False),
    ("python a.py", "a.py", "import subprocess\nsubprocess.run(['x'])\n", True),
    ("python a.py", "a.py", "import subprocess\nsubprocess.run(['x'], check=True)\n", False),
    ("python a.py", "a.py", "print('a demo')\n", False),
    ("node a.js", "a.js", "main().catch(() => {});\nasync function main() { assert(0); }\n", True),
    ("node a.js", "a.js", "main().catch(() => process.exit(1));\nasync function main() { assert(0); }\n", False),
    ("cargo run --bin v", "src/bin/v.rs", "fn main() { debug_assert!(f()); }\n", False),
    ("cargo run --release --bin v", "src/bin/v.rs", "fn main() { debug_assert!(f()); }\n", True),
    (
        "dotnet run --project A",
        "A/P.cs",
        "try { F(); throw new X(); } catch (X e) { Console.WriteLine(e); }\n",
        True,
    ),
    ("dotnet run --project A", "A/P.cs", "try { F(); } catch (X e) { Environment.ExitCode = 1; }\n", False),
)


@pytest.mark.parametrize(("command", "path", "source", "lost"), CLASSES)
def test_what_a_program_swallows_is_seen(command: str, path: str, source: str, *, lost: bool) -> None:
    """One heard check is enough to believe it, and so is none: a demo fails by what it imports."""
    assert swallows(MadeTree({path: source}), "", command.split()) is lost


@pytest.mark.parametrize(
    ("command", "path", "source"),
    [
        ("python a.py", "a.py", "assert " + "(" * 5000),
        ("python a.py", "a.py", "assert " + "-" * 50_000 + "1"),
        ("python a.py", "a.py", f"Thread(target=a{'.a' * 900})\nassert f()"),
        ("node a.js", "a.js", "assert(" * 3000 + ")" * 3000),
        ("cargo run --bin v", "src/bin/v.rs", "fn main() {" + "{" * 4000 + "}" * 4001),
        ("dotnet run --project A", "A/P.cs", "F(" * 3000 + ")" * 3000 + ";"),
    ],
)
def test_a_strangers_source_that_is_too_deep_is_believed(command: str, path: str, source: str) -> None:
    """Nothing is raised, and nothing is said of it."""
    assert not swallows(MadeTree({path: source}), "", command.split())
