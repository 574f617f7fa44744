"""Originals whose CI job fails, each in another way: does `curate validate` say so, and say why?

    python -m benchmarks.failing_originals FOLDER [--only REGEX] [--jobs 2] [--limit-s 60] [--loops 40]

Tests that fail at once, after waiting or after computing; that hang, spin, exit, crash or eat memory; that want
the network, a package, a program or a version. FOLDER gets the data and `validate.json`. Cases called `pip-` take
pytest from the registry, those called `cs-` packages of NuGet; the others need nothing. `--loops` busy loops run
beside them and end after `--loops-s` seconds at the latest. Prints a table; exits with 1 where a verdict or a
cause is wrong.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from tests.suites.dibench.executed import JAVASCRIPT, PYTHON, RUST, Tiny, workflow, write_tiny

from groundup.configuration import environment

INVALID, TOO_LONG, NOT_HERE = "invalid", "not executed", "not executed"
SETUP_PYTHON = "      - uses: actions/setup-python@v5\n        with:\n          python-version: '3.11'\n"
SETUP_UV = "      - uses: astral-sh/setup-uv@v5\n"
SETUP_NODE = "      - uses: actions/setup-node@v4\n        with:\n          node-version: 20\n"
SETUP_RUST = "      - uses: dtolnay/rust-toolchain@stable\n"
BUILDS = '\n[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
NETWORK = "example.com"


class Case(NamedTuple):
    """A repository, and the verdict that it must get."""

    tiny: Tiny
    true_cause: str
    standing: str
    printed: str
    """A pattern of the cause that is printed."""


def python(body: str, imports: str = "import app", *, steps: Sequence[str] = ()) -> Tiny:
    """Return a repository with one test of unittest, whose body is *body*."""
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    test = f"import unittest\n{imports}\n\nclass Sides(unittest.TestCase):\n    def test_square(self):\n{indented}"
    usual = ("run: python install.py", "run: python -m unittest discover -s tests")
    masked = {**PYTHON.masked, "tests/test_app.py": test}
    return PYTHON._replace(masked=masked, workflow=workflow(SETUP_PYTHON, *(steps or usual)))


def pip(test: str, wanted: str = "six", setup: str = SETUP_PYTHON, steps: Sequence[str] = ()) -> Tiny:
    """Return a repository that installs itself and pytest from the registry."""
    declares = '[project]\nname = "app"\nversion = "1"\ndependencies = []\n' + BUILDS
    declares += '\n[tool.setuptools]\npy-modules = ["app"]\n'
    masked = {"pyproject.toml": declares, "app.py": "import six\n", "tests/test_app.py": f"import app\n{test}"}
    original = {"pyproject.toml": declares.replace("dependencies = []", f'dependencies = ["{wanted}"]')}
    usual = ("run: pip install . pytest", "run: pytest -q")
    return Tiny("python", masked, original, workflow(setup, *(steps or usual)))


def javascript(test: str, script: str = "node --test", last: str = "run: npm test") -> Tiny:
    """Return a repository whose tests are *test*."""
    head = "const shapes = require('shapes');\nconst test = require('node:test');\n"
    head += "const assert = require('assert');\n"
    declares = JAVASCRIPT.masked["package.json"].replace("node test.js", script)
    original = {"package.json": JAVASCRIPT.original["package.json"].replace("node test.js", script)}
    masked = {**JAVASCRIPT.masked, "package.json": declares, "test.js": head + test}
    steps = ("run: npm install --no-audit --no-fund", last)
    return JAVASCRIPT._replace(masked=masked, original=original, workflow=workflow(SETUP_NODE, *steps))


def rust(body: str, command: str = "cargo test --offline", head: str = "", tail: str = "") -> Tiny:
    """Return a repository with one test, whose body is *body*."""
    source = f"{head}pub fn sides() -> u32 {{ shapes::SQUARE }}\n\n#[test]\nfn square() {{ {body} }}\n{tail}"
    masked = {**RUST.masked, "src/lib.rs": source}
    return RUST._replace(masked=masked, workflow=workflow(SETUP_RUST, f"run: {command}"))


_TESTING = (
    ("Microsoft.NET.Test.Sdk", "17.12.0"),
    ("xunit", "2.9.2"),
    ("xunit.runner.visualstudio", "2.8.2"),
)


def csharp(
    body: str,
    head: str = "",
    packages: Sequence[tuple[str, str]] = _TESTING,
    framework: str = "net10.0",
) -> Tiny:
    """Return a repository with one test of xunit, whose body is *body*."""
    items = "".join(f'\n    <PackageReference Include="{name}" Version="{text}" />' for name, text in packages)
    group = f"\n  <ItemGroup>{items}\n  </ItemGroup>"
    declares = (
        f'<Project Sdk="Microsoft.NET.Sdk">\n  <PropertyGroup><TargetFramework>{framework}</TargetFramework>'
        f"</PropertyGroup>{group}\n</Project>\n"
    )
    test = f"using Xunit;\n{head}public class SidesTests\n{{\n    static int Sides() => 4;\n"
    test += f"    [Fact] public void Square() {{ {body} }}\n}}\n"
    masked = {"tests/Tests.csproj": declares.replace(group, ""), "tests/SidesTests.cs": test}
    setup = "      - uses: actions/setup-dotnet@v4\n        with:\n          dotnet-version: 10.0.x\n"
    return Tiny("csharp", masked, {"tests/Tests.csproj": declares}, workflow(setup, "run: dotnet test tests"))


ASSERTS = "self.assertEqual(app.sides('square'), 5)"
SLEEPS = "std::thread::sleep(std::time::Duration::from_secs(4)); assert_eq!(sides(), 5);"
UNDECLARED = "#[cfg(test)] mod more { use nowhere_declared::x; #[test] fn a() {} }\n"
CASES: Mapping[str, Case] = {
    "python-asserts": Case(python(ASSERTS), "a false assertion", INVALID, "failing tests: .*4 != 5"),
    "python-waits": Case(
        python(f"time.sleep(5)\n{ASSERTS}", "import app, time"),
        "a false assertion after 5 s of sleep",
        INVALID,
        "failing tests: .*4 != 5",
    ),
    "python-computes": Case(
        python(f"sum(range(30_000_000))\n{ASSERTS}"),
        "a false assertion after computing",
        INVALID,
        "failing tests: .*4 != 5",
    ),
    "python-bursts": Case(
        python(f"for _ in range(20):\n    time.sleep(.1); sum(range(100_000))\n{ASSERTS}", "import app, time"),
        "a false assertion after bursts",
        INVALID,
        "failing tests: .*4 != 5",
    ),
    "python-raises": Case(python("app.sides('circle')"), "an exception", INVALID, "failing tests: .*KeyError"),
    "python-recursion": Case(
        python("def deeper(): deeper()\ndeeper()"),
        "endless recursion",
        INVALID,
        "RecursionError|maximum recursion",
    ),
    "python-hangs": Case(
        python("time.sleep(3600)", "import app, time"), "sleeps for ever", TOO_LONG, "timeout.*time was up"
    ),
    "python-spins": Case(python("while True: pass"), "computes for ever", TOO_LONG, "timeout.*time was up"),
    "python-network": Case(
        python(f"urllib.request.urlopen('https://{NETWORK}', timeout=20)", "import app, urllib.request"),
        "wants the network",
        f"{INVALID}|{TOO_LONG}",
        "network: ",
    ),
    "python-import": Case(
        python("pass", "import app, nowhere_declared"),
        "a package that nothing declares",
        INVALID,
        "missing dependency in test: .*nowhere_declared",
    ),
    "python-exits": Case(python("os._exit(3)", "import app, os"), "os._exit(3)", INVALID, "exit code 3"),
    "python-segfault": Case(
        python("ctypes.string_at(0)", "import app, ctypes"), "reads address 0", INVALID, "Segmentation fault"
    ),
    "python-memory": Case(
        python("held = []\nwhile True: held.append(b'x' * 50_000_000)"),
        "eats memory",
        INVALID,
        "(?i)memory|killed",
    ),
    "python-own-limit": Case(
        python("subprocess.run(['sleep', '30'], timeout=2)", "import app, subprocess"),
        "the test's own limit of 2 s",
        f"{INVALID}|infrastructure",
        "TimeoutExpired|timed out",
    ),
    "python-script": Case(
        python("", steps=("run: python install.py", "name: Run tests\n        run: python check.py"))._replace(
            masked={**PYTHON.masked, "check.py": "import sys\nprint('checking')\nsys.exit('42 is not 43')\n"}
        ),
        "a script that says why",
        INVALID,
        "42 is not 43",
    ),
    "pip-asserts": Case(pip("def test_a():\n    assert 1 == 2\n"), "a false assertion", INVALID, "assert 1 == 2"),
    "pip-fixture": Case(
        pip("def test_a(nowhere): pass\n"), "an absent fixture", INVALID, "fixture 'nowhere'|nowhere"
    ),
    "pip-version": Case(
        pip("def test_a(): pass\n", "six>=99"), "an absent version", INVALID, "invalid version in build: .*six>=99"
    ),
    "pip-package": Case(
        pip("def test_a(): pass\n", "groundup-made-this-name-up"),
        "an absent package",
        INVALID,
        "dependency not found in build: .*groundup-made-this",
    ),
    "pip-interpreter": Case(
        pip(
            "def test_a(): pass\n",
            setup=SETUP_UV,
            steps=("run: uv venv --python 3.15 && uv pip install . pytest", "run: uv run pytest -q"),
        ),
        "an interpreter that the machine has not",
        NOT_HERE,
        r"program that the machine has not: .*3\.15",
    ),
    "node-asserts": Case(
        javascript("test('a', () => assert.strictEqual(1, 2));\n"), "a false assertion", INVALID, "failing tests: "
    ),
    "node-waits": Case(
        javascript("test('a', () => new Promise((y, n) => setTimeout(() => n(new Error('late')), 4000)));\n"),
        "a rejection after 4 s",
        INVALID,
        "failing tests: ",
    ),
    "node-hangs": Case(
        javascript("test('a', () => new Promise(() => setInterval(() => {}, 1000)));\n"),
        "waits for ever",
        TOO_LONG,
        "timeout.*time was up",
    ),
    "node-network": Case(
        javascript(f"test('a', async () => {{ await fetch('https://{NETWORK}'); }});\n"),
        "wants the network",
        f"{INVALID}|{TOO_LONG}",
        "network: ",
    ),
    "node-import": Case(
        javascript("require('nowhere-declared');\n"),
        "a package that nothing declares",
        INVALID,
        "missing dependency in test: .*nowhere-declared",
    ),
    "node-exits": Case(
        javascript("process.exit(7);\n", "node test.js"), "process.exit(7)", INVALID, "exit code 7"
    ),
    "node-memory": Case(
        javascript(
            "const a = []; for (;;) a.push(new Array(1000).fill({}));\n", "node --max-old-space-size=40 test.js"
        ),
        "eats memory",
        INVALID,
        "heap out of memory",
    ),
    "node-throws": Case(
        javascript("setTimeout(() => { throw new Error('the gate is closed') }, 100);\n", "node test.js"),
        "an exception",
        INVALID,
        "the gate is closed",
    ),
    "node-program": Case(
        javascript("test('a', () => {});\n", last="run: npm install && no-such-runner test"),
        "a program that the machine has not",
        INVALID,
        "no-such-runner: command not found",
    ),
    "rust-asserts": Case(rust("assert_eq!(sides(), 5);"), "a false assertion", INVALID, "failing tests: "),
    "rust-waits": Case(rust(SLEEPS), "a false assertion after 4 s of sleep", INVALID, "failing tests: "),
    "rust-spins": Case(
        rust("loop { std::hint::black_box(sides()); }"), "computes for ever", TOO_LONG, "timeout.*time was up"
    ),
    "rust-segfault": Case(
        rust("unsafe { std::ptr::null_mut::<u8>().write_volatile(1) }"),
        "writes to address 0",
        INVALID,
        "SIGSEGV|signal: 11|null pointer",
    ),
    "rust-aborts": Case(rust("std::process::abort();"), "abort()", INVALID, "SIGABRT|signal: 6"),
    "rust-exits": Case(rust("std::process::exit(9);"), "exit(9)", INVALID, "exit (code|status:) ?(9|101)"),
    "rust-network": Case(
        rust(f'std::net::TcpStream::connect("{NETWORK}:80").unwrap();'),
        "wants the network",
        f"{INVALID}|{TOO_LONG}",
        "network: ",
    ),
    "rust-import": Case(
        rust("", tail=UNDECLARED),
        "a crate that nothing declares",
        INVALID,
        "missing dependency in test: .*(nowhere_declared|E0432|E0433)",
    ),
    "rust-nightly": Case(
        rust("", head="#![feature(never_type)]\n"),
        "a feature of nightly compilers",
        NOT_HERE,
        "program that the machine has not: .*stable release channel",
    ),
    "cs-asserts": Case(
        csharp("Assert.Equal(5, Sides());"),
        "a false assertion",
        INVALID,
        r"failing tests: Failed SidesTests\.Square .*Assert\.Equal\(\) Failure",
    ),
    "cs-throws": Case(
        csharp('throw new System.InvalidOperationException("the gate is closed");'),
        "an exception",
        INVALID,
        "failing tests: .*the gate is closed",
    ),
    "cs-compiles-not": Case(
        csharp("int x = ;"), "does not compile", INVALID, r"tests/SidesTests\.cs\(\d+,\d+\): error CS1525"
    ),
    "cs-undeclared": Case(
        csharp("", head="using Nowhere.Declared;\n"),
        "a package that nothing declares",
        INVALID,
        r"missing dependency in build: tests/SidesTests\.cs\(2,7\): error CS0246: .*\[tests/Tests\.csproj",
    ),
    "cs-hangs": Case(
        csharp("System.Threading.Thread.Sleep(-1);"), "sleeps for ever", TOO_LONG, "timeout.*time was up"
    ),
    "cs-network": Case(
        csharp(f'new System.Net.Http.HttpClient().GetStringAsync("https://{NETWORK}").Wait();'),
        "wants the network",
        f"{INVALID}|{TOO_LONG}",
        "network: ",
    ),
    "cs-exits": Case(
        csharp("System.Environment.Exit(7);"),
        "Environment.Exit(7)",
        INVALID,
        "(?i)test host process crashed|aborted",
    ),
    "cs-no-adapter": Case(
        csharp("", packages=_TESTING[:2]), "no adapter finds the tests", INVALID, "tests not run: "
    ),
    "cs-package": Case(
        csharp("", packages=(*_TESTING, ("Groundup.Made.This.Up", "1.0.0"))),
        "an absent package",
        INVALID,
        r"dependency not found in build: .*NU1101.*Groundup\.Made\.This\.Up",
    ),
    "cs-version": Case(
        csharp("", packages=(*_TESTING, ("Newtonsoft.Json", "99.0.0"))),
        "an absent version",
        INVALID,
        r"invalid version in build: .*NU1102.*Newtonsoft\.Json",
    ),
    "cs-sdk": Case(
        csharp("", framework="net99.0"),
        "an SDK that the machine has not",
        NOT_HERE,
        "program that the machine has not: .*NETSDK1045",
    ),
    "cs-framework": Case(
        csharp("", framework="net48"), "wants .NET Framework", NOT_HERE, r"\.NET Framework: .*no Mono"
    ),
}


@contextmanager
def busy(loops: int, seconds: float) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep the processors busy with so many endless loops, which are yielded, for so many seconds at the most."""
    running = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(loops)]

    def end() -> None:
        for loop in running:
            loop.kill()

    timer = Timer(seconds, end)
    timer.start()
    try:
        yield running
    finally:
        timer.cancel()
        end()
        for loop in running:
            loop.wait()


def validated(folder: Path, names: Sequence[str], jobs: int, limit_s: int) -> list[dict[str, str]]:
    """Write the cases *names* below *folder*, validate them, and return the rows."""
    place = {"GROUNDUP_DATA_DIR": str(folder / "data"), "GROUNDUP_CI_TIMEOUT_S": str(limit_s)}
    groundup = [sys.executable, "-m", "groundup"]
    if not (folder / "tiny").is_dir():
        write_tiny(folder / "tiny", {name: case.tiny for name, case in CASES.items()})
        pull = [*groundup, "data", "pull", "dibench@failing", "--from", str(folder / "tiny")]
        subprocess.run(pull, env={**environment(), **place}, check=True)
    asked = ["curate", "validate", "dibench@failing", "-k", "1", "-j", str(jobs), "--json", "--again"]
    command = [*groundup, *asked, "--tasks", ",".join(names)]
    ended = subprocess.run(command, env={**environment(), **place}, stdout=subprocess.PIPE, check=False)
    (folder / "validate.json").write_bytes(ended.stdout)
    rows: list[dict[str, str]] = json.loads(ended.stdout)["tasks"]
    return rows


def main() -> int:
    """Validate and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a pattern of cases' names")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit-s", type=int, default=60)
    parser.add_argument("--loops", type=int, default=0)
    parser.add_argument("--loops-s", type=float, default=300)
    given = parser.parse_args()
    names = [name for name in CASES if re.search(given.only, name)]
    started = time.monotonic()
    with busy(given.loops, given.loops_s):
        rows = validated(given.folder.resolve(), names, given.jobs, given.limit_s)
    right = 0
    print("| case | true cause | standing | printed cause | right |\n|---|---|---|---|---|")
    for row in rows:
        case = CASES[row["task"]]
        agrees = re.fullmatch(case.standing, row["standing"]) and re.search(case.printed, row["why"], re.DOTALL)
        right += bool(agrees)
        said = row["why"].replace("|", "\\|").replace("\n", " ")
        print(f"| {row['task']} | {case.true_cause} | {row['standing']} | {said} | {'yes' if agrees else 'no'} |")
    print(f"\n{right} of {len(names)} right, {given.loops} loops, {time.monotonic() - started:.0f} s")
    return int(right < len(names))


if __name__ == "__main__":
    raise SystemExit(main())
