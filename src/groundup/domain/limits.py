"""What a sandbox may use."""

from pydantic import Field

from groundup.domain.records import Record


class Limits(Record):
    """Upper bounds for everything that runs inside one sandbox."""

    cpus: float = Field(default=1.0, gt=0)
    memory_mb: int = Field(default=2048, ge=16)
    processes: int = Field(default=512, ge=8)
    disk_mb: int = Field(default=4096, ge=1, description="workspace and private /tmp, each")
    wall_clock_s: float = Field(default=3600.0, gt=0, description="of the whole sandbox")
    command_s: float = Field(default=900.0, gt=0, description="of one command, unless it says otherwise")
    output_bytes: int = Field(
        default=8 * 1024 * 1024, ge=1024, description="kept per stream and command, half head and half tail"
    )
