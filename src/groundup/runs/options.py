"""How a run is worked on: speed, retries, caching. Nothing here may change a result."""

from pydantic import Field

from groundup.domain.records import Record


class RunOptions(Record):
    """Settings of one start of a run; a resume can use others."""

    jobs: int = Field(default=1, ge=1, description="attempts at once")
    memory_share: float = Field(default=0.8, gt=0, le=1, description="of the machine's memory to reserve")
    retries: int = Field(default=2, ge=0, description="of an attempt whose infrastructure failed, in this start")
    retry_delay_s: float = Field(default=2.0, ge=0)
    use_cache: bool = Field(default=True, description="look verdicts up before grading")
    keep: bool = Field(default=False, description="keep the grader's scratch folders in the attempts' folders")
    trusted: bool = Field(default=False, description="the user said --i-trust-this-code")
