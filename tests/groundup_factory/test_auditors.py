"""The best copy that an index hands out becomes a submission, under the original's own names."""

import inspect
import io
import textwrap
import zipfile
from pathlib import Path

from groundup.trees.fingerprints import Fingerprint
from groundup_factory.auditors import _copy_in, carriers

CODE = inspect.getsource(textwrap).encode()


def test_a_copy_inside_a_wheel_is_taken_out(tmp_path: Path) -> None:
    """It lies in a wheel in a wheel, by another name; the original's own path is where it goes."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("pip/_vendor/folding.py", CODE)
    with zipfile.ZipFile(tmp_path / "tool.whl", "w") as archive:
        archive.writestr("tool/embed/pip.whl", inner.getvalue())
        archive.writestr("tool/main.py", inspect.getsource(inspect))
    original = Fingerprint.of(
        "wrapping", {"wrapping/core.py": CODE, "wrapping/absent.py": inspect.getsource(io).encode()}
    )
    copied, shared = _copy_in(tmp_path / "tool.whl", "tool==1.0", original)
    assert copied == {"wrapping/core.py": CODE}
    assert shared == len(original.prints["wrapping/core.py"])


def test_a_package_is_taken_with_all_its_files(tmp_path: Path) -> None:
    """Files that are too short to be known are needed, too: a vendored package is copied as a whole."""
    with zipfile.ZipFile(tmp_path / "tool.whl", "w") as archive:
        archive.writestr("tool/_vendor/wrapping/core.py", CODE)
        archive.writestr("tool/_vendor/wrapping/small.py", "def one():\n    return 1\n" + "#" * 300)
        archive.writestr("tool/_vendor/other/core.py", inspect.getsource(io))
    original = Fingerprint.of("wrapping", {"wrapping/core.py": CODE})
    copied, _ = _copy_in(tmp_path / "tool.whl", "tool==2.0", original)
    assert sorted(copied) == ["wrapping/core.py", "wrapping/small.py"]


def test_carriers_are_pinned() -> None:
    """What an audit finds tomorrow depends on no newer version."""
    assert all(pin.count("==") == 1 for pin in carriers())
