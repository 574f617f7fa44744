"""What this package adds to groundup's tables (`groundup/extensions.py`)."""

from typing import TYPE_CHECKING

from groundup.catalog import Lazy

if TYPE_CHECKING:
    from groundup.suites.dibench.suite import InstanceSubject


def _static() -> "InstanceSubject":
    from groundup_infer.written import write_static

    return write_static


SUBJECTS: "dict[str, Lazy[InstanceSubject]]" = {"static": _static}
