"""The published API coverage and the older scripts', each with its faults."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.suites.repogenesis import legacy_rules, official_rules
from groundup.suites.repogenesis.legacy_rules import LegacyCoverage, legacy_coverage
from groundup.suites.repogenesis.official_rules import official_coverage as measure
from groundup.suites.repogenesis.official_rules import shows_method


def extracted(readme: str) -> list[str]:
    """Return what the harness takes for endpoints."""
    return [str(one) for one in official_rules.extract(readme)]


def test_paths_end_at_dashes_and_colons() -> None:
    """`/send-batch` is `/send` for the harness; the older scripts keep colons and closing backticks."""
    readme = "POST /mail/send-batch now\nGET /items/:id now\nPUT `/quoted` now\n"
    assert extracted(readme) == ["POST /mail/send", "GET /items/"]
    assert [str(one) for one in legacy_rules.extract("GET `x` /items`\nGET /items/:id` now\n")] == [
        "GET /items/:id`"
    ]


def test_a_path_at_the_end_of_a_line_swallows_the_next() -> None:
    """Of bare lines the second is lost, and one at the end of the file; text behind the paths saves them."""
    assert extracted("GET /a\nGET /b\nGET /cd\nx") == ["GET /a", "GET /cd"]
    assert extracted("GET /a\nGET /b\nGET /c\n") == ["GET /a"]
    assert extracted("GET /a - x\nGET /b - y\n") == ["GET /a", "GET /b"]


def test_features_stand_in_where_there_are_no_endpoints() -> None:
    """List entries become endpoints, and only then."""
    assert extracted("- Health Check\n* User Login\n- something Else\n") == [
        "FEATURE Health Check",
        "FEATURE User Login",
    ]
    assert extracted("- Health Check\n\nGET /a b\n") == ["GET /a"]


def test_blocks_and_rows_are_read() -> None:
    """Tables count with their backticks removed, code blocks once more."""
    assert extracted("| GET | `/a` | x |\n") == ["GET /a"]
    assert extracted("text\n```\nPOST /b x\n```\n") == ["POST /b"]


@pytest.mark.parametrize(
    ("method", "text", "expected"),
    [
        ("GET", "@app.get('/a')", True),
        ("GET", "cache.GET ('/a')", True),
        ("POST", "@app.route('/a', methods=['POST'])", False),
        ("POST", '@app.route("/a", methods=["GET", "post"])', True),
        ("POST", 'methods=[\n"POST"]', False),
        ("PUT", "@RequestMapping(value = '/a', method = RequestMethod.PUT)", True),
        ("PUT", "@RequestMapping('/a')\nmethod = RequestMethod.PUT", False),
        ("DELETE", "@DeleteMapping", True),
        ("PATCH", "@Patch (", True),
        ("GET", "@GET\n", True),
        ("GET", "@GET\npublic void a() {}", False),
    ],
)
def test_signs_of_methods(method: str, text: str, expected: bool) -> None:
    """Double quotes count where single ones do not, JAX-RS only at the end of a file, comments always."""
    assert shows_method(method, text) is expected
    assert shows_method(method, "# " + text) is expected


def test_signs_are_found_in_linear_time() -> None:
    """Long lines of half signs do not take the harness's quadratic time."""
    assert not shows_method("POST", "methods=[" * 200_000)
    assert not shows_method("POST", '"POST"' * 200_000)


def test_one_comment_can_cover_everything(tmp_path: Path) -> None:
    """The harness and the older scripts both count comments, but no tests and no other languages."""
    readme = "GET /users/{id} x\nPOST /login x\n"
    (tmp_path / "tests").mkdir()
    comment = "# .get( .post( users login\n"
    (tmp_path / "tests" / "app.py").write_text(comment)
    (tmp_path / "app.txt").write_text(comment)
    assert measure(readme, tmp_path).score == 0
    assert legacy_coverage(readme, tmp_path) == LegacyCoverage(total=2, implemented=0)
    (tmp_path / "app.py").write_text(comment)
    assert measure(readme, tmp_path).score == 1
    assert legacy_coverage(readme, tmp_path) == LegacyCoverage(total=2, implemented=2)


def test_nothing_extracted_is_nothing(tmp_path: Path) -> None:
    """0 of 0 is 0 for the harness, which leaves such repositories out of its average."""
    assert measure("no endpoints", tmp_path).score == 0
    assert measure("no endpoints", tmp_path).extracted == ()


def test_links_out_of_a_submission_are_not_read(tmp_path: Path) -> None:
    """What lies elsewhere on the machine implements nothing."""
    (tmp_path / "outside.py").write_text(".get( users")
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "app.py").symlink_to(tmp_path / "outside.py")
    assert measure("GET /users x\n", submission).found == ()


def test_older_scripts_need_no_method(tmp_path: Path) -> None:
    """A longer part of the path alone is enough for them, and features count in one of three scripts."""
    (tmp_path / "app.py").write_text("translate health_check")
    assert legacy_coverage("POST /api/translate x", tmp_path) == LegacyCoverage(total=1, implemented=1)
    assert measure("POST /api/translate x", tmp_path).found == ()
    assert legacy_coverage("- Health Check\n- User Login\n", tmp_path) == LegacyCoverage(total=0, implemented=0)
    with_features = legacy_coverage("- Health Check\n- User Login\n", tmp_path, features=True)
    assert with_features == LegacyCoverage(total=1, implemented=1)


@given(st.text(), st.text())
@settings(deadline=None)
def test_any_text_can_be_extracted_from(readme: str, text: str) -> None:
    """No README and no source breaks either reading."""
    assert len(set(extracted(readme))) == len(extracted(readme))
    legacy_rules.extract(readme, features=True)
    shows_method("GET", text)
