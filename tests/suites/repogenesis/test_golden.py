"""What is read of READMEs and sources by each of the four readings, and what of the logs of tests.

`python -m tests.suites.repogenesis.test_golden` writes golden/readings.txt anew: read what changed.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.suites.repogenesis import legacy_rules, official_rules
from groundup.suites.repogenesis.endpoints import specified_endpoints

GOLDEN = Path(__file__).parent / "golden" / "readings.txt"
READMES: Mapping[str, str] = {
    "headings, lists and bold": """# Boats
## GET /boats
### `POST /boats/`: make one
- **PUT** `/boats/{id}` - change it
* DELETE /boats/<int:id>
1. PATCH: /boats/:id, or HEAD /boats/{id:path}.
GET and POST /both; OPTIONS | GET `/three`
get /lower and GET, PUT/POST http://localhost:8000/whole?x=1#part
notaGET /not, GET-/not, /paths/GET /neither
""",
    "tables": """| Method | Path | What |
|---|---|---|
| GET | `/boats` | all |
| POST | /boats-new | one |
| Path | Method |
| `/crews/{id}` | GET, DELETE |
| /crews | **POST** |
| PATCH | boats | none |
""",
    "behind and in pairs": """`/boats` (GET)
/boats/{id} [PUT, DELETE]
### Login
- Endpoint: `/login`
- Method: POST
**URL**: http://x/logout
**HTTP Method**: GET or POST
Path: /alone
### Next
Method: DELETE
Route path = '/late'
""",
    "code and examples": """Base URL: http://localhost:5000/api/v1
GET /boats/{id} - one
```http
GET /boats/7
POST /boats HTTP/1.1
DELETE /boats/{id}
curl -X PUT http://localhost:5000/boats
```
~~~
PATCH /tilde
```
GET /still-inside
~~~
GET /after
""",
    "a base that paths have": "The path prefix is `/api/`.\nGET /api/boats\nPOST /boats\n",
    "features alone": """# Boats
- User Login and more
* Boat Create: makes one
- lower Delete
- Fleet List
""",
    "a line that ends": "GET /boats\nPOST /crews: makes\nPUT /a-b\n\nDELETE /x:y - gone\n",
    "nothing": "",
}
TREE: Mapping[str, str] = {
    "app.py": '@app.get("/boats")\ndef boats():\n    return []\n\n'
    '@app.route("/crews", methods=["POST"])\nasync def crews():\n'
    "    if a and b or c:\n        return [x for x in y if x]\n"
    "    try:\n        pass\n    except E:\n        raise\n",
    "src/Boats.java": '@RequestMapping(value = "/login", method = RequestMethod.POST)\n'
    "class Boats {\n  Boats() {}\n"
    "  int f() { for (int i = 0; i < 3 && x || y; i++) { if (a) return b ? 1 : 2; } return 0; }\n}\n"
    "interface I { void g(); }\nenum E { A }\nrecord R(int a) {}\n",
    "routes.js": "router.delete ('/boats/:id', gone)\n",
    "tests/test_app.py": "GET /fleet-list user_login",
    "build/x.py": "/late DELETE",
    "notes.txt": "/notes",
}
TESTS: Mapping[str, str] = {
    "test_a.py": "def test_one(): pass\nasync def test_two(): pass\nclass T:\n    def test_three(self): pass\n"
    "def other(): pass\n",
    "b_test.py": "def test_four():\n    def test_inner(): pass\n",
    "test_broken.py": "def test_five(:\n",
    "helper.py": "def test_six(): pass\n",
    "ATest.java": 'class ATest {\n  @Test void a() {}\n  @org.x.ParameterizedTest(name = "x") void b() {}\n'
    "  void testC() {}\n  void other() {}\n}\n",
    "Old.java": "class Old extends TestCase { public void testD() {} }\nclass Plain { void testE() {} }\n",
    "Newer.java": 'class Newer { @Test void f() { var x = """\n  @Test\n  """; } }\n',
    "Broken.java": "class Broken { public void testG( }\n",
}
LOGS: Mapping[str, str] = {
    "markers": ">>>>> DSR_START\nStarting service\nDSR_RESULT=Yes\nhello\nDSR_MESSAGE= up = well \n>>>>> DSR_END\n"
    "9 passed\n>>>>> TEST_START\n2 passed, 1 failed\n4 passed, 1 skipped, 2 errors\n>>>>> TEST_END\n"
    "3 failed\nWARNING: No x\nbye\n",
    "no markers": "== 3 passed, 2 failed ==\nTests run: 3, Failures: 1, Errors: 0, Skipped: 1\n",
    "wrong order": ">>>>> TEST_END\n1 passed\n>>>>> TEST_START\nDSR_RESULT=true\n",
    "surefire": ">>>>> DSR_START\nDSR_RESULT=0\n>>>>> DSR_END\n>>>>> TEST_START\n"
    "Tests run: 3, Failures: 1, Errors: 1, Skipped: 1\n"
    "Tests run:2,Failures:0,Errors:0,Skipped:0\n>>>>> TEST_END\n",
    "more lost than run": "Tests run: 1, Failures: 1, Errors: 1, Skipped: 1\n",
    "coverage": "TOTAL   10   4   60%\n7 passed\n8 passed\n",
}


def _write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _all(folder: Path) -> Iterator[str]:
    tree, tests = _write(folder / "tree", TREE), _write(folder / "tests", TESTS)
    for name, readme in READMES.items():
        yield f"##### {name}"
        yield f"specified: {'; '.join(map(str, specified_endpoints(readme)))}"
        for features in (False, True):
            extracted = [(one.method, one.path) for one in legacy_rules.extract(readme, features=features)]
            found = legacy_rules.legacy_coverage(readme, tree, features=features)
            yield f"legacy, features {features}: {found.implemented} of {extracted}"
        official = official_rules.official_coverage(readme, tree)
        found_there = [(one.method, one.path, one in official.found) for one in official.extracted]
        yield f"official: {official.score} of {found_there}"
    for name, log in LOGS.items():
        yield f"##### log: {name}"
        yield f"{official_rules.read_deployment(log)!r}"
        for counts in (official_rules.read_counts(log), official_rules.read_surefire_counts(log)):
            yield f"{counts!r} {counts.total} {counts.rate}"
        yield f"{legacy_rules.read_output(log)!r}"
        yield f"{legacy_rules.read_java_tests(None, log)!r}"
        yield f"{official_rules.service_words(log)!r}"
    yield "##### sources"
    for folder_of in (tree, tests):
        yield f"python {legacy_rules.code_metrics(folder_of, 'python')!r}"
        yield f"java {legacy_rules.code_metrics(folder_of, 'java')!r}"
    for name, text in TESTS.items():
        one = _write(folder / f"one-{name}", {name: text})
        yield f"{name}: {legacy_rules.count_tests(one, 'python')} {legacy_rules.count_tests(one, 'java')}"
    for method in ("GET", "POST", "DELETE", "PATCH"):
        seen = [name for name, text in TREE.items() if official_rules.shows_method(method, text)]
        yield f"{method} is shown by {seen}"


def test_readings_are_as_ever(tmp_path: Path) -> None:
    """Endpoints, counts, metrics and deployment, with the faults of the published scripts."""
    assert "\n".join(_all(tmp_path)) + "\n" == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        GOLDEN.write_text("\n".join(_all(Path(made))) + "\n", encoding="utf-8")
