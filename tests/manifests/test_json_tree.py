"""JSON with spans."""

import pytest

from groundup.manifests.editing import Text
from groundup.manifests.json_tree import parse
from groundup.manifests.records import ManifestError


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_what_is_nested_too_deeply(opening: str, closing: str) -> None:
    """Is refused from the 201st level on, with the line of that."""

    def nested(levels: int) -> Text:
        inner = opening * levels + "1" + closing * levels
        return Text("x.json", '{"top":\n' + inner + "}")

    assert parse(nested(199)).member("top") is not None
    with pytest.raises(ManifestError, match=r"^x\.json:2: is nested more than 200 levels deep$"):
        parse(nested(200))
    with pytest.raises(ManifestError, match=r"^x\.json: is nested too deeply to be read as JSON$"):
        parse(nested(100_000))
