"""The data files that ship with inference."""

import json
import re
from importlib.resources import files

from groundup.sources.names import companions, table
from groundup_infer.python_candidates import collect
from groundup_infer.python_inference import weights
from tests.groundup_infer.trees import tree_of

DATA = files("groundup_infer") / "data"


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
    lines = (files("groundup.sources") / "data/python_names.txt").read_text(encoding="utf-8").splitlines()
    pairs = dict(line.split(" ") for line in lines if line and not line.startswith("#"))
    assert pairs.items() <= table("python_names").items()


def test_crates_by_hand_are_in_the_data() -> None:
    """The same for crates, which are listed by their registry names."""
    lines = (DATA / "rust_names.txt").read_text(encoding="utf-8").splitlines()
    listed = {crate for line in lines if not line.startswith("#") for crate in line.split()}
    assert {crate.replace("-", "_") for crate in listed} <= table("rust_names", "groundup_infer").keys()


def test_python_names_are_normalised() -> None:
    """What is compared with declarations has the registry's one spelling."""
    spelled = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
    found = {
        *table("python_names").values(),
        *companions(),
        *(name for some in companions().values() for name in some),
    }
    assert [name for name in found if not spelled.fullmatch(name)] == []


def test_what_is_known_of_csharp_is_well_formed() -> None:
    """Each line of the lists for C# is of the form that its first lines describe, and stands there once."""
    lists = {
        name: [line for line in (DATA / f"{name}.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
        for name in ("csharp_names", "csharp_popular", "csharp_traces", "csharp_brings")
    }
    package = r"[A-Za-z][\w.-]*"
    kinds = "word|old-word|old-using|file|property|rule|command|sdk"
    forms = {
        "csharp_names": rf"[A-Za-z_][\w.]* ({package}|-)",
        "csharp_popular": package,
        "csharp_traces": rf"{package}( ({kinds}):\S.*)+",
        "csharp_brings": rf"{package}( {package})+",
    }
    for name, lines in lists.items():
        assert [line for line in lines if not re.fullmatch(forms[name], line)] == []
    for name in ("csharp_names", "csharp_popular", "csharp_brings"):
        first = [line.split(" ")[0] for line in lists[name]]
        assert len(first) == len(set(first)), name
