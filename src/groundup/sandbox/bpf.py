"""A small assembler for classic BPF, the language of seccomp filters: decision trees, without labels.

A piece of code is a tuple of instructions that ends with `ret` on every way, so pieces are put together by
nesting and every jump leads forward. Libraries were looked at: libseccomp's bindings need its C library, and
seccompy 0.2 compares whole 64-bit arguments, although the kernel takes only the lower half of an `int`.
"""

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

MOST_INSTRUCTIONS = 4096
"""What the kernel takes."""
NUMBER, ARCHITECTURE = 0, 4
"""Where `struct seccomp_data` has the system call's number and the architecture that it was made for."""
_ARGUMENTS = 16
_LOAD, _JUMP, _RETURN, _AND = 0x20, 0x05, 0x06, 0x54
_FARTHEST = 255


class Comparison(IntEnum):
    """Ways to compare what was loaded with a number, as unsigned 32-bit numbers."""

    EQUAL = 0x15
    ABOVE = 0x25
    AT_LEAST = 0x35
    ANY_BIT = 0x45


class Instruction(NamedTuple):
    """One instruction: its code, how many to skip if true and if false, and its number."""

    code: int
    if_true: int
    if_false: int
    number: int


Code = tuple[Instruction, ...]


def argument(index: int) -> int:
    """Return where the lower 32 bits of an argument lie, on machines that store them first."""
    return _ARGUMENTS + 8 * index


def ret(value: int) -> Code:
    """End with *value*."""
    return (Instruction(_RETURN, 0, 0, value),)


def load(offset: int, then: Code, *, mask: int | None = None) -> Code:
    """Load the 32 bits at *offset*, without those that *mask* lacks, and go on with *then*."""
    masking = () if mask is None else (Instruction(_AND, 0, 0, mask),)
    return (Instruction(_LOAD, 0, 0, offset), *masking, *then)


def when(test: Comparison, number: int, yes: Code, no: Code) -> Code:
    """Go on with *yes* or *no*."""
    if len(yes) <= _FARTHEST:
        return (Instruction(test, 0, len(yes), number), *yes, *no)
    far = (Instruction(test, 1, 0, number), Instruction(_JUMP, 0, 0, len(yes)))
    return (*far, *yes, *no)


def among(numbers: Sequence[int], yes: Code, no: Code) -> Code:
    """Go on with *yes* when what was loaded is one of *numbers*; *yes* stands there once for each."""
    return when(Comparison.EQUAL, numbers[0], yes, among(numbers[1:], yes, no)) if numbers else no


def ranges(starts: Sequence[tuple[int, Code]]) -> Code:
    """Go on with the code of the last start that is not above what was loaded; the first start stands for 0."""
    if len(starts) == 1:
        return starts[0][1]
    middle = len(starts) // 2
    return when(Comparison.AT_LEAST, starts[middle][0], ranges(starts[middle:]), ranges(starts[:middle]))


def assembled(code: Code) -> bytes:
    """Return the program as the kernel reads it (`struct sock_filter`). Raises `ValueError` for too long a one."""
    if len(code) > MOST_INSTRUCTIONS:
        raise ValueError(f"a filter of {len(code)} instructions; the kernel takes {MOST_INSTRUCTIONS}")
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
