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
    agent_jobs: int | None = Field(
        default=None, ge=1, description="attempts at making submissions at once; None: as many as jobs"
    )
    generate_only: bool = Field(default=False, description="stop before grading; a resume grades")
    max_cost_usd: float | None = Field(
        default=None, gt=0, description="for the run's model, what earlier starts paid included"
    )
    prices: str | None = Field(default=None, description="price file")
    price: str | None = Field(default=None, description="USD per million tokens, INPUT:OUTPUT")
    model_concurrency: int = Field(default=64, ge=1, description="calls at once to the model's endpoint")
    model_timeout_s: float | None = Field(
        default=None, gt=0, description="for the whole answer to one call; None: as the run's configuration says"
    )
    model_patience_s: float | None = Field(
        default=None, ge=0, description="how long a failing call is repeated; None: as the configuration says"
    )
    reuse_replies: bool = Field(default=False, description="look replies of the model up in the response cache")
    trusted: bool = Field(default=False, description="the user said --i-trust-this-code")
