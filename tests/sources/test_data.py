"""The data files that ship with inference."""

import json
import re
from importlib.resources import files

from groundup.sources.names import companions, table
from groundup.sources.python_inference import collect, weights
from tests.sources.trees import tree_of

DATA = files("groundup.sources") / "data"


def test_the_weights_fit_the_features() -> None:
    """Every feature has a weight and no weight is left over, so that the two cannot drift apart."""
    (candidate,) = collect(tree_of({"kit.py": "import requests\n"}), {}).candidates
    assert list(weights().values) == list(candidate.features)
    assert 0 < weights().threshold < 1


def test_the_weights_say_where_they_come_from() -> None:
    """The fitted file names the script, the sample by digest, and how it did in cross-validation."""
    origin = json.loads((DATA / "python_weights.json").read_text(encoding="utf-8"))["provenance"]
    assert origin["script"].endswith("inference_training.py")
    assert origin["sample"].startswith("sha256:")
    assert origin["repositories"] > 60


def test_the_list_by_hand_is_in_the_data() -> None:
    """A line added by hand is not forgotten: the rebuilt file holds it."""
    lines = (DATA / "python_names.txt").read_text(encoding="utf-8").splitlines()
    pairs = dict(line.split(" ") for line in lines if line and not line.startswith("#"))
    assert pairs.items() <= table("python_names").items()


def test_crates_by_hand_are_in_the_data() -> None:
    """The same for crates, which are listed by their registry names."""
    lines = (DATA / "rust_names.txt").read_text(encoding="utf-8").splitlines()
    listed = {crate for line in lines if not line.startswith("#") for crate in line.split()}
    assert {crate.replace("-", "_") for crate in listed} <= table("rust_names").keys()


def test_python_names_are_normalised() -> None:
    """What is compared with declarations has the registry's one spelling."""
    spelled = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
    found = {
        *table("python_names").values(),
        *companions(),
        *(name for some in companions().values() for name in some),
    }
    assert [name for name in found if not spelled.fullmatch(name)] == []
