"""The filter of system calls: programs mean what was nested, and the policy holds for all calls."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.sandbox.seccomp import (
    ALLOW,
    ARCHITECTURES,
    ERRNO,
    KILL_PROCESS,
    LAST_KNOWN,
    NUMBER,
    Code,
    Comparison,
    among,
    argument,
    assembled,
    guest_filter,
    load,
    ranges,
    ret,
    when,
)
from tests.sandbox.bpf_machine import answer

_WORDS = st.integers(0, 2**32 - 1)
_LONGS = st.integers(0, 2**64 - 1)
_MACHINES = sorted(ARCHITECTURES)
_ENOSYS, _EPERM = ERRNO | errno.ENOSYS, ERRNO | errno.EPERM
_NO_FAMILY, _NO_PROTOCOL = ERRNO | errno.EAFNOSUPPORT, ERRNO | errno.EPROTONOSUPPORT
CLONE, CLONE3, UNSHARE, PERSONALITY, SOCKET, SOCKETPAIR, IOCTL = range(7)
_NUMBERS = {
    "x86_64": (56, 435, 272, 135, 41, 53, 16),
    "aarch64": (220, 435, 97, 92, 198, 199, 29),
}


def decided(machine: str, number: int, *arguments: int) -> int:
    """Return what the filter of *machine* answers to a call of its own architecture."""
    six = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    return answer(guest_filter(machine), (number, ARCHITECTURES[machine].audit, six))  # type: ignore[arg-type]


@given(st.dictionaries(_WORDS, st.integers(0, 2**32 - 1), min_size=1, max_size=600), _WORDS)
def test_ranges_find_the_last_start(starts: dict[int, int], number: int) -> None:
    """A tree of ranges answers as looking the starts up one by one does, however long its jumps are."""
    table = [(0, 7), *sorted(starts.items())]
    program = assembled(ranges([(start, ret(value)) for start, value in table]))
    expected = [value for start, value in table if start <= number][-1]
    assert answer(_loading(program, NUMBER), (number, 0, (0,) * 6)) == expected


def _loading(program: bytes, offset: int) -> bytes:
    return assembled(load(offset, ())) + program


_TREES = st.recursive(
    st.tuples(st.just("ret"), _WORDS),
    lambda inner: st.one_of(
        st.tuples(st.just("when"), st.sampled_from(list(Comparison)), _WORDS, inner, inner),
        st.tuples(st.just("load"), st.integers(0, 5), st.none() | _WORDS, inner),
        st.tuples(st.just("among"), st.lists(_WORDS, max_size=4), inner, inner),
        st.tuples(st.just("long"), inner, inner),
    ),
    max_leaves=12,
)
"""Programs as nested tuples; `long` puts 300 instructions before its second branch."""


def _written(tree: tuple) -> Code:  # type: ignore[type-arg]
    kind, *parts = tree
    if kind == "ret":
        return ret(parts[0])
    if kind == "when":
        return when(parts[0], parts[1], _written(parts[2]), _written(parts[3]))
    if kind == "load":
        return load(argument(parts[0]), _written(parts[2]), mask=parts[1])
    if kind == "among":
        return among(parts[0], _written(parts[1]), _written(parts[2]))
    filler = load(argument(1), ()) * 300
    return load(argument(0), when(Comparison.EQUAL, 1, (*filler, *_written(parts[0])), _written(parts[1])))


def _meant(tree: tuple, arguments: tuple[int, ...], loaded: int) -> int:  # type: ignore[type-arg]
    kind, *parts = tree
    if kind == "ret":
        return int(parts[0])
    if kind == "load":
        low = arguments[parts[0]] % 2**32
        return _meant(parts[2], arguments, low if parts[1] is None else low & parts[1])
    if kind == "long":
        first = arguments[0] % 2**32
        return (
            _meant(parts[0], arguments, arguments[1] % 2**32) if first == 1 else _meant(parts[1], arguments, first)
        )
    if kind == "among":
        return _meant(parts[1] if loaded in parts[0] else parts[2], arguments, loaded)
    test, number, yes, no = parts
    true = {
        Comparison.EQUAL: loaded == number,
        Comparison.ABOVE: loaded > number,
        Comparison.AT_LEAST: loaded >= number,
        Comparison.ANY_BIT: loaded & number != 0,
    }[test]
    return _meant(yes if true else no, arguments, loaded)


@given(_TREES, st.tuples(*[st.integers(0, 3) | _LONGS] * 6))
def test_programs_mean_what_was_nested(tree: tuple, arguments: tuple[int, int, int, int, int, int]) -> None:  # type: ignore[type-arg]
    """Every program that the assembler takes ends with the answer that its pieces say, jumps over 255 included."""
    code = _written(tree)
    if len(code) > 4096:
        with pytest.raises(ValueError, match="instructions"):
            assembled(code)
    else:
        assert answer(assembled(code), (0, 0, arguments)) == _meant(tree, arguments, 0)


@pytest.mark.parametrize("machine", _MACHINES)
@given(number=_WORDS | st.integers(0, 600), arguments=st.tuples(*[_LONGS] * 6), other=_WORDS)
def test_foreign_and_unknown_calls(
    machine: str, number: int, arguments: tuple[int, int, int, int, int, int], other: int
) -> None:
    """A call of another architecture kills; one that is newer than the policy, x32 included, does not exist."""
    audit = ARCHITECTURES[machine].audit
    if other != audit:
        assert answer(guest_filter(machine), (number, other, arguments)) == KILL_PROCESS
    if number > LAST_KNOWN:
        assert answer(guest_filter(machine), (number, audit, arguments)) == _ENOSYS


@pytest.mark.parametrize("machine", _MACHINES)
@given(family=st.integers(0, 50) | _WORDS, kind=st.integers(0, 10) | _WORDS, protocol=st.integers(0, 300) | _WORDS,
       high=_WORDS)  # fmt: skip
def test_sockets(machine: str, family: int, kind: int, protocol: int, high: int) -> None:
    """Unix, TCP, UDP and routing sockets can be made; upper halves, which the kernel drops, do nothing."""
    upper = high << 32
    found = decided(machine, _NUMBERS[machine][SOCKET], upper | family, upper | kind, upper | protocol)
    if family == 1:
        assert found == ALLOW
    elif family == 16:
        assert found == (ALLOW if protocol == 0 else _NO_PROTOCOL)
    elif family not in (2, 10):
        assert found == _NO_FAMILY
    elif kind & 15 in (1, 2):
        allowed = (0, 6) if kind & 15 == 1 else (0, 17, 1, 58)
        assert found == (ALLOW if protocol in allowed else _NO_PROTOCOL)
    else:
        assert found == (_EPERM if kind & 15 == 3 else ERRNO | errno.ESOCKTNOSUPPORT)
    pair = decided(machine, _NUMBERS[machine][SOCKETPAIR], upper | family, upper | kind, upper | protocol)
    assert pair == (ALLOW if family == 1 else _NO_FAMILY)


@pytest.mark.parametrize("machine", _MACHINES)
@given(flags=_LONGS, bit=st.sampled_from([0x20000, *(1 << place for place in range(25, 31))]))
def test_namespaces(machine: str, flags: int, bit: int) -> None:
    """No flag that makes a namespace passes `clone` or `unshare`; threads do; `clone3` is not there."""
    clone, clone3, unshare = _NUMBERS[machine][:3]
    assert decided(machine, clone3, flags) == _ENOSYS
    assert decided(machine, clone, flags | bit) == _EPERM
    assert decided(machine, unshare, flags | bit) == _EPERM
    assert decided(machine, unshare, 0x80) == _EPERM
    harmless = flags & ~0x7E020080
    assert decided(machine, clone, harmless) == ALLOW
    assert decided(machine, unshare, harmless) == ALLOW


@pytest.mark.parametrize("machine", _MACHINES)
def test_decided_by_arguments(machine: str) -> None:
    """Personalities that weaken a process and keystrokes into terminals are refused, and nothing else."""
    personality, ioctl = _NUMBERS[machine][PERSONALITY], _NUMBERS[machine][IOCTL]
    assert [decided(machine, personality, value) for value in (0, 8, 0x40000, 0xFFFFFFFF)] == [ALLOW] * 4
    assert [decided(machine, personality, value) for value in (0x100000, 0x400000, 1)] == [_EPERM] * 3
    assert [decided(machine, ioctl, 0, value) for value in (0x5412, 0x541C, 0x5412 | 1 << 40)] == [_EPERM] * 3
    assert [decided(machine, ioctl, 0, value) for value in (0x5401, 0x5413, 0x541B)] == [ALLOW] * 3


def test_another_machine_has_no_filter() -> None:
    """Where numbers are not known, there is no filter rather than a wrong one."""
    assert guest_filter("riscv64") == b""
