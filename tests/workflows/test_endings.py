"""Whether a program of the repository ends well though what it checks fails."""

import pytest

from groundup.workflows.endings import is_empty_harness, swallows
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


FAIL = "assert f()\n"
PYTHON = {
    # what fails the program
    FAIL: False,
    "raise ValueError\n": False,
    "sys.exit(1)\n": False,
    "os._exit(f())\n": False,
    "raise SystemExit(1)\n": False,
    "unittest.main()\n": False,
    "subprocess.check_call(['x'])\n": False,
    "check_output(['x'])\n": False,
    "os.wait()\n": False,
    "self.assertTrue(f())\n": False,
    "subprocess.Popen(['x'], check=True)\n": False,
    # what is no check at all
    "sys.exit(0)\n": False,
    "exit()\n": False,
    "quit(None)\n": False,
    "unittest.main(exit=False)\n": False,
    "f()\n": False,
    "syntax error\n": False,
    # what nobody hears
    "subprocess.run(['x'])\n": True,
    "subprocess.run(['x'], check=False)\n": True,
    "subprocess.call(['x'])\n": True,
    "call(['x'])\n": True,
    "os.system('x')\n": True,
    "os.spawnlp(0, 'x')\n": True,
    "assert (f(), 'never fails')\n": True,
    # beside one that is heard
    "os.system('x')\nassert f()\n": False,
    "subprocess.run(['x'])\nunittest.main(exit=False)\n": True,
    "subprocess.run(['x'])\nunittest.main(verbosity=False)\n": False,
    "subprocess.run(['x'])\nunittest.main(exit=True)\n": False,
    "subprocess.run(['x'])\nsys.exit(0)\n": True,
    "subprocess.run(['x'])\nsys.exit(1)\n": False,
    # what is caught
    "try:\n    assert f()\nexcept:\n    pass\n": True,
    "try:\n    assert f()\nexcept AssertionError as error:\n    print(error)\n": True,
    "try:\n    assert f()\nexcept (OSError, builtins.Exception):\n    pass\n": True,
    "try:\n    check_call(f())\nexcept subprocess.CalledProcessError:\n    pass\n": True,
    "try:\n    sys.exit(1)\nexcept SystemExit:\n    pass\n": True,
    "try:\n    assert f()\nexcept OSError:\n    pass\n": False,
    "try:\n    assert f()\nexcept Exception:\n    raise\n": False,
    "try:\n    assert f()\nexcept Exception:\n    if f():\n        sys.exit(0)\n": False,
    "def g():\n    try:\n        assert f()\n    except Exception:\n        return 1\n": False,
    "try:\n    f()\nexcept Exception:\n    assert g()\n": False,
    "try:\n    f()\nexcept Exception:\n    pass\nelse:\n    assert g()\n": False,
    "try:\n    f()\nexcept Exception:\n    pass\nfinally:\n    assert g()\n": False,
    "try:\n    assert f()\nexcept OSError:\n    raise\nexcept Exception:\n    pass\n": False,
    "try:\n    with f():\n        assert f()\nexcept Exception:\n    pass\n": True,
    "with suppress(AssertionError):\n    assert f()\n": True,
    "with a, contextlib.suppress(AssertionError):\n    assert f()\n": True,
    "with open(a):\n    assert f()\n": False,
    "async def g():\n    async with suppress(Exception):\n        assert f()\nasyncio.run(g())\n": True,
    # what is never awaited, asked or taken
    "async def g():\n    assert f()\ng()\n": True,
    "async def g():\n    assert f()\nasyncio.run(g())\n": False,
    "async def g():\n    assert f()\nloop.run_until_complete(g())\n": False,
    "def g():\n    assert f()\nThread(target=g).start()\n": True,
    "def g():\n    assert f()\nThread(None, g, target=h, name=g).start()\n": False,
    "def g():\n    assert f()\nmultiprocessing.Process(target=g).start()\n": True,
    "def g():\n    assert f()\nq = Process(target=g)\nq.start()\nexit(q.exitcode)\n": False,
    "def g():\n    assert f()\nq = Process(target=g)\nassert q.exitcode == 0\n": False,
    "def g():\n    assert f()\npool.submit(g)\n": True,
    "def g():\n    assert f()\npool.submit()\npool.apply_async(g, 1)\n": True,
    "def g():\n    assert f()\npool.submit(g).result()\n": False,
    "def g():\n    assert f()\nh(pool.submit(g).exception())\n": False,
    "def g(x):\n    assert f()\nmap(g, [1])\n": True,
    "def g(x):\n    assert f()\nfilter(g, [1])\n": True,
    "def g(x):\n    assert f()\nmap()\nlist(map(g, [1]))\n": False,
    "def g(x):\n    assert f()\nh = map(g, [1])\n": True,
    "def g(x):\n    assert f()\nh = map(g, [1])\nlist(h)\n": False,
    "def g(x):\n    assert f()\nmap(h, [1])\n": False,
    "if os.fork() == 0:\n    assert f()\n": True,
    "if os.fork() == 0:\n    assert f()\nelse:\n    os.waitpid(0, 0)\n": True,
    "if os.fork() == 0:\n    assert f()\nos.waitpid(0, 0)\n": False,
    "atexit.register(lambda: os._exit(0))\nassert f()\n": True,
    "atexit.register(f)\nassert f()\n": False,
}


@pytest.mark.parametrize(("source", "lost"), PYTHON.items())
def test_a_program_in_python(source: str, *, lost: bool) -> None:
    """By assertion, exception, exit code or a program it starts; lost where caught, or if nobody waits for it."""
    assert swallows(MadeTree({"a.py": source}), "", ["python", "a.py"]) is lost
    assert swallows(MadeTree({}), "", ["python3", "-c", source]) is lost


JAVASCRIPT = {
    "assert(f());": False,
    "assert.ok(f());": False,
    "assert.strictEqual(f(), 1);": False,
    "assert.notDeepStrictEqual(f(), 1);": False,
    "throw new Error('no');": False,
    "process.exit(1);": False,
    "process.exitCode = f();": False,
    "f();": False,
    "process.exit(0);": False,
    "process.exit();": False,
    "process.exitCode = 0;": False,
    "console.assert(f());": True,
    "console.assert(f()); process.exitCode = 0;": True,
    "console.assert(f()); process.exitCode = 10;": False,
    "console.assert(f()); process.exit( 0 );": True,
    "console.assert(f()); process.exit(code);": False,
    "try { assert(f()); } catch (e) { console.log(e); }": True,
    "try { assert(f()); } catch { }": True,
    "try { assert(f()); } catch (e) { throw e; }": False,
    "try { assert(f()); } catch (e) { process.exit(1); }": False,
    "try { assert(f()); } finally { g(); }": False,
    "try { f(); } catch (e) { assert(f()); }": False,
    "try { f(); } catch (exit) { } assert(f());": False,
    "try { g(() => { assert(f()); }); } catch (e) { }": True,
    "const { exec } = require('child_process'); exec('x');": True,
    "const c = require('child_process'); c.spawn('x');": True,
    "const c = require('child_process'); const r = c.spawnSync('x');": False,
    "const c = require('child_process'); c.spawnSync('x');": True,
    "const c = require('child_process'); const r = c.spawn('x');": True,
    "const c = require('child_process'); c.execSync('x');": False,
    "const c = require('child_process'); try { const r = c.spawnSync('x'); } catch { }": True,
    "exec('x');": False,
    "const w = new Worker('w.js');": False,
    "const w = new Worker('w.js'); w.on('error', () => {});": True,
    "const w = new Worker('w.js'); w.on('error', console.error);": True,
    "const w = new Worker('w.js'); w.on('error', (e) => { throw e; });": False,
    "const w = new Thing('w.js'); w.on('error', () => {});": False,
    "setTimeout(() => { assert(f()); }, 9);": False,
    "setTimeout(() => { assert(f()); }, 9).unref();": True,
    "later(() => { assert(f()); }, 9).unref();": False,
    "Promise.allSettled([g(() => { assert(f()); })]);": True,
    "Promise.allSettled([g(() => { assert(f()); })]).then((all) => all.map((one) => one.status));": False,
    "Promise.all([g(() => { assert(f()); })]);": False,
    "g(() => { assert(f()); }).catch(console.error);": True,
    "g(() => { assert(f()); }).catch((e) => console.log(e));": True,
    "g(() => { assert(f()); }).catch(function (e) { console.log(e); });": True,
    "g(() => { assert(f()); }).catch((e) => { process.exit(1); });": False,
    "g(() => { assert(f()); }).catch(function (e) { throw e; });": False,
    "g(() => { assert(f()); }).catch(stop);": False,
    "g(() => { assert(f()); }).then(() => 0, console.error);": True,
    "g(() => { assert(f()); }).then(console.log);": False,
    "g(() => { assert(f()); }).then(() => 0, stop);": False,
    "g(() => { assert(f()); }).finally(() => 0);": False,
    "main().catch(console.error);\nasync function main() { assert(f()); }": True,
    "main().catch(console.error);\nfunction main() { assert(f()); }": False,
    "main().catch(console.error);\nasync function other() { assert(f()); }": False,
    "main();\nasync function main() { assert(f()); }": False,
    "process.on('exit', () => { process.exitCode = 0; });\nassert(f());": True,
    "process.on('exit', () => { process.exit(0); });\nthrow new Error();": True,
    "process.on('exit', () => { process.exit(0); });\nf();": False,
    "process.on('uncaughtException', (e) => { console.log(e); });\nassert(f());": True,
    "process.once('unhandledRejection', (e) => { console.log(e); });\nthrow 1;": True,
    "process.on('uncaughtException', (e) => { process.exit(1); });\nassert(f());": False,
    "process.on('uncaughtException', (e) => { console.log(e); });\nabort(); assert(f());": True,
}


@pytest.mark.parametrize(("source", "lost"), JAVASCRIPT.items())
def test_a_program_in_javascript(source: str, *, lost: bool) -> None:
    """Promises without a listener fail Node; listeners that only print do not."""
    assert swallows(MadeTree({"a.mjs": source}), "", ["node", "a.mjs"]) is lost
    assert swallows(MadeTree({}), "", ["node", "--eval", source]) is lost


RUST = {
    "fn main() { assert!(f()); }": False,
    "fn main() { assert_ne!(f(), 1); }": False,
    "fn main() { anyhow::ensure!(f()); }": False,
    "fn main() { std::panic!(); }": False,
    "fn main() { f()?; }": False,
    "fn main() -> ExitCode { ExitCode::FAILURE }": False,
    "fn main() -> R { Err(1) }": False,
    "fn main() { std::process::exit(1); }": False,
    "fn main() { exit(f()); }": False,
    "fn main() { f().unwrap(); }": False,
    'fn main() { f().expect("no"); }': False,
    "fn main() { f(); }": False,
    "fn main() { exit(0); }": False,
    'fn main() { println!("{}", f()); }': False,
    'fn main() { Command::new("x").status(); }': True,
    'fn main() { Command::new("x").arg("y").spawn().unwrap(); }': True,
    'fn main() { let _ = Command::new("x").output(); }': True,
    'fn main() { Command::new("x").status(); exit(0); }': True,
    'fn main() { Command::new("x").status(); exit(1); }': False,
    'fn main() { let s = Command::new("x").status(); }': False,
    "fn main() { thread::spawn(|| { assert!(f()); }); }": True,
    "fn main() { thread::spawn(|| { assert!(f()); }).join().unwrap(); }": False,
    "fn main() { let h = thread::spawn(|| { assert!(f()); }); }": False,
    "fn main() { let _ = thread::spawn(|| { assert!(f()); }).join(); }": True,
    "fn main() { let _ = catch_unwind(|| { assert!(f()); }); }": True,
    "fn main() { let _ = catch_unwind(|| { assert!(f()); }).is_err(); }": False,
    "fn main() { later(|| { assert!(f()); }); }": False,
    "fn main() { let _ = g(); }\nfn g() -> R { assert!(f()); }": True,
    "fn main() { let _ = g().ok(); }\nfn g() -> R { f()?; }": True,
    "fn main() { let _ = h(); }\nfn g() -> R { assert!(f()); }": False,
    "fn main() { set_hook(Box::new(|_| exit(0))); assert!(f()); }": True,
    "fn main() { set_hook(Box::new(|_| exit(3))); assert!(f()); }": False,
    "fn main() { debug_assert_eq!(f(), 1); }": False,
}


@pytest.mark.parametrize(("source", "lost"), RUST.items())
def test_a_program_in_rust(source: str, *, lost: bool) -> None:
    """A thread or result that nobody asks keeps the panic; a status unwrapped says only that it started."""
    assert swallows(MadeTree({"src/main.rs": source}), "", ["cargo", "run"]) is lost


CSHARP = {
    "throw new X();": False,
    "var a = b ?? throw new X();": False,
    "Environment.Exit(1);": False,
    "Environment.ExitCode = f();": False,
    "Environment.ExitCode |= 1;": False,
    "Debug.Assert(f());": False,
    "Trace.Assert(f());": False,
    "Assert.Equal(1, f());": False,
    "Xunit.Assert.True(f());": False,
    'Environment.FailFast("no");': False,
    "return f();": False,
    "class P { static int Main() { return f(); } }": False,
    "f();": False,
    'Process.Start("x");': True,
    'var p = Process.Start("x"); return p.ExitCode;': False,
    'Process.Start("x"); f(p.ExitCode);': False,
    'Process.Start("x"); Environment.ExitCode = 0;': True,
    'Process.Start("x"); Environment.Exit(0);': True,
    'Process.Start("x"); return 0;': True,
    'Process.Start("x"); return;': True,
    'Process.Start("x"); return 1;': False,
    'class P { static int Main() { Process.Start("x"); return 1; } }': False,
    'class P { static int Other() { Process.Start("x"); return 1; } }': True,
    'Process.Start("x"); g(() => { return 1; });': True,
    "try { throw new X(); } catch (X e) { g(e); }": True,
    "try { Assert.Equal(1, f()); } catch { }": True,
    "try { return 1; } catch { }": True,
    "try { throw new X(); } catch (X e) { throw; }": False,
    "try { throw new X(); } catch (X e) { Environment.Exit(1); }": False,
    "try { f(); } catch (X e) { } finally { throw new X(); }": False,
    "try { throw new X(); } finally { f(); }": False,
    "Task.Run(() => { Assert.Equal(1, f()); });": True,
    "Task.Factory.StartNew(() => { throw new X(); });": True,
    "_ = Task.Run(() => { Assert.Equal(1, f()); });": True,
    "Task.Run(() => { Assert.Equal(1, f()); }).Wait();": False,
    "Task.Run(() => { Assert.Equal(1, f()); }).GetAwaiter().GetResult();": False,
    "await Task.Run(() => { Assert.Equal(1, f()); });": False,
    "var t = Task.Run(() => { Assert.Equal(1, f()); });": False,
    "Other.Run(() => { Assert.Equal(1, f()); });": False,
}


@pytest.mark.parametrize(("source", "lost"), CSHARP.items())
def test_a_program_in_csharp(source: str, *, lost: bool) -> None:
    """Top-level statements and `Main` give the exit code; a task that nobody awaits gives none."""
    assert swallows(MadeTree({"A.cs": source}), "", ["dotnet", "run"]) is lost


@pytest.mark.parametrize(
    ("called", "lost"),
    [
        ('<Exec Command="x" />', False),
        ('<Exec Command="x" IgnoreExitCode="true" />', True),
        ('<Exec Command="x" ContinueOnError="true" />', True),
        ('<Exec Command="x" ContinueOnError="WarnAndContinue" />', True),
        ('<Exec Command="x" ContinueOnError="false" />', False),
        ('<Exec Command="x" ContinueOnError="ErrorAndStop" />', False),
        ('<Exec Command="x" IgnoreExitCode="true" /><Exec Command="y" />', False),
        ("<Message />", False),
    ],
)
def test_targets_of_msbuild(called: str, *, lost: bool) -> None:
    """Only what they call can fail."""
    tree = MadeTree({"b/ci.proj": f"<Project><Target>{called}</Target></Project>"})
    assert swallows(tree, "b", ["dotnet", "build", "ci.proj"]) is lost
    assert not swallows(tree, "", ["dotnet", "build", "ci.proj"])


LOST, HEARD = "os.system('x')\n", "assert f()\n"
RUST_LOST, RUST_HEARD = 'fn main() { Command::new("x").status(); }', "fn main() { assert!(f()); }"
CS_LOST, CS_HEARD = 'Process.Start("x");', "throw new X();"
PLACES: list[tuple[str, str, dict[str, str], bool]] = [
    ("python a.py", "", {"a.py": LOST}, True),
    ("python -u ./a.py --fast", "b", {"b/a.py": LOST}, True),
    ("python a.py", "b", {"a.py": LOST}, False),
    ("python -m c.d", "", {"c/d.py": LOST}, True),
    ("python -m c.d", "", {"c/d/__main__.py": LOST}, True),
    ("python -m c.d", "", {"c/d.py": HEARD, "c/d/__main__.py": LOST}, False),
    ("python c.txt -m", "", {"c.txt": LOST}, False),
    ("./a.py", "", {"a.py": LOST}, True),
    ("./a.sh", "", {"a.sh": LOST}, False),
    ("bash a.py", "", {"a.py": LOST}, False),
    ("./a.cjs", "", {"a.cjs": "console.assert(f());"}, True),
    ("python -c", "", {}, False),
    ("cargo run", "", {"src/main.rs": RUST_LOST, "src/bin/v.rs": RUST_HEARD}, True),
    ("cargo run", "b", {"b/src/main.rs": RUST_LOST, "src/main.rs": RUST_HEARD}, True),
    ("cargo +nightly run", "", {"src/main.rs": RUST_LOST}, True),
    ("cargo build run", "", {"src/main.rs": RUST_LOST}, True),
    ("cargo build --bin run", "", {"src/main.rs": RUST_LOST}, False),
    ("cargo run --example e", "", {"examples/e.rs": RUST_LOST, "src/main.rs": RUST_HEARD}, True),
    ("cargo run --example e", "", {"examples/e/main.rs": RUST_LOST}, True),
    ("cargo run --bin v", "", {"src/bin/v/main.rs": RUST_LOST}, True),
    ("cargo run --bin v", "", {"src/bin/w.rs": RUST_LOST}, False),
    ("cargo run -- --bin v", "", {"src/bin/v.rs": RUST_LOST, "src/main.rs": RUST_HEARD}, False),
    (
        "cargo run -p two",
        "",
        {
            "x/Cargo.toml": '[package]\nname = "one"\n',
            "x/src/main.rs": RUST_HEARD,
            "y/Cargo.toml": '[package]\nname  =  "two"\n',
            "y/src/main.rs": RUST_LOST,
        },
        True,
    ),
    ("cargo run --package z", "", {"z/src/main.rs": RUST_LOST, "src/main.rs": RUST_HEARD}, True),
    (
        "dotnet run",
        "",
        {"a/b/P.cs": CS_LOST, "obj/G.cs": CS_HEARD, "a/bin/G.cs": CS_HEARD, "P.txt": "throw"},
        True,
    ),
    ("dotnet run", "a", {"a/P.cs": CS_LOST, "P.cs": CS_HEARD}, True),
    ("dotnet run --project a/A.csproj", "", {"a/P.cs": CS_LOST, "P.cs": CS_HEARD}, True),
    ("dotnet run -p a\\A.csproj", "", {"a/P.cs": CS_LOST, "P.cs": CS_HEARD}, True),
    ("dotnet run --project A.csproj", "", {"a/P.cs": CS_LOST, "P.cs": CS_HEARD}, False),
    ("dotnet watch run", "", {"P.cs": CS_LOST}, True),
    ("dotnet test", "", {"P.cs": CS_LOST}, False),
    ("dotnet run -c Release", "", {"P.cs": "Debug.Assert(f());"}, True),
    ("dotnet run --configuration release", "", {"P.cs": "Debug.Assert(f());"}, True),
    ("dotnet run -c Debug", "", {"P.cs": "Debug.Assert(f());"}, False),
]


@pytest.mark.parametrize(("command", "folder", "files", "lost"), PLACES)
def test_the_source_of_a_command_is_found(command: str, folder: str, files: dict[str, str], *, lost: bool) -> None:
    """In the folder where it runs, by the names that its tool knows; where there is none, it is believed."""
    assert swallows(MadeTree(files), folder, command.split()) is lost


@pytest.mark.parametrize(
    ("source", "empty"),
    [
        ("fn main() {}", True),
        ("fn  main ( )\n{\n}\n", True),
        ("fn main() { f(); }", False),
        ("fn main() { debug_assert!(f()); }", False),
        (RUST_LOST, True),
        (RUST_HEARD, False),
    ],
)
def test_an_own_harness_of_cargo(source: str, *, empty: bool) -> None:
    """One that does nothing tests nothing, and neither does one that swallows."""
    assert is_empty_harness(source) is empty
