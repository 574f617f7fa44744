"""What several tests of a suite state word for word, and the one false form that it has in all of them. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from groundup.grading.library.expectations import Expectation
from groundup.grading.library.source_text import SourceEdit
from groundup.grammars import python_value

Stated = Mapping[Expectation, bytes]
"""What one test expects, each with its words; b"" where those are not all of it."""
_FEW = 4
"""What more tests state, such as a usual status, stays true in false tests that expect other things, too: else who
knows the usual value knows all of them."""
_TRIES = 5


class Repetition:
    """Which statements of a suite have one false form for all tests that make them.

    Had each a form of its own, what two tests state alike would be true for certain. The form has another literal,
    for a negation shows itself wherever it stands.
    """

    def __init__(self, tests: Iterable[Stated]) -> None:
        self._tests = tuple(tests)
        self._counts = Counter(said for test in self._tests for said in {*test.values()})

    def drawn(self, seed: str) -> Mapping[bytes, Sequence[SourceEdit]]:
        """Return the statements that are false wherever they stand, with their edits, counted from their start."""
        found: dict[bytes, Sequence[SourceEdit]] = {}
        for test in filter(self.is_repeated, self._tests):
            said = {words: one for one, words in test.items() if one.is_certain}
            # Of two tests that state the same, both choose the same, whatever else they state.
            words = max(said, key=lambda each: _random_of(seed, each).random())
            if words not in found and (edits := _other_literals(said[words], words, _random_of(seed, words))):
                found[words] = edits
        return found

    def is_repeated(self, test: Stated) -> bool:
        """Whether other tests state all that *test* does."""
        is_certain = any(one.is_certain for one in test)
        return is_certain and all(words and self._counts[words] > 1 for words in test.values())

    def falsified(
        self, test: Stated, drawn: Mapping[bytes, Sequence[SourceEdit]]
    ) -> dict[Expectation, list[SourceEdit]]:
        """Return the expectations of *test* that are false by what is *drawn*, with their edits."""
        is_repeated = self.is_repeated(test)
        return {
            one: [SourceEdit(one.start + edit.start, one.start + edit.stop, edit.new) for edit in drawn[words]]
            for one, words in test.items()
            if words in drawn and (is_repeated or self._counts[words] <= _FEW)
        }


def _other_literals(one: Expectation, words: bytes, random: Random) -> Sequence[SourceEdit]:
    """Return edits of *words* that put literals in the place of others; none where it has no such form."""
    for _ in range(_TRIES):
        edits = one.falsified(random)
        if all(one.start <= edit.start and edit.stop <= one.stop for edit in edits):
            moved = [SourceEdit(edit.start - one.start, edit.stop - one.start, edit.new) for edit in edits]
            if all(_is_literal(edit.new) and _is_literal(words[edit.start : edit.stop]) for edit in moved):
                return moved
    return ()


def _is_literal(source: bytes) -> bool:
    try:
        python_value(f"({source.decode()})")
    except (ValueError, SyntaxError):
        return False
    return True


def _random_of(seed: str, words: bytes) -> Random:
    return Random(f"{seed}:".encode() + words)  # noqa: S311 - the seed is the secret
