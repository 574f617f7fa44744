"""A machine for classic BPF, written from the kernel's description: what a filter answers to one system call."""

import struct

Call = tuple[int, int, tuple[int, int, int, int, int, int]]
"""Number, architecture and arguments."""


def answer(program: bytes, call: Call) -> int:
    """Run *program* on *call*. Raises `ValueError` for what the kernel would not load or run."""
    number, architecture, arguments = call
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments)
    instructions = list(struct.iter_unpack("=HBBI", program))
    if not 0 < len(instructions) <= 4096:
        raise ValueError(f"{len(instructions)} instructions")
    position = accumulator = 0
    while True:
        if position >= len(instructions):
            raise ValueError("the program runs over its end")
        code, if_true, if_false, value = instructions[position]
        position += 1
        if code == 0x20:  # ld [k]
            if value % 4 or value + 4 > len(data):
                raise ValueError(f"loads from {value}")
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:  # and #k
            accumulator &= value
        elif code == 0x05:  # ja k
            position += value
        elif code == 0x06:  # ret #k
            return int(value)
        elif code in (0x15, 0x25, 0x35, 0x45):
            true = {
                0x15: accumulator == value,
                0x25: accumulator > value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            position += if_true if true else if_false
        else:
            raise ValueError(f"unknown instruction {code:#x}")
