"""What a user can say of a model: where it is, how patiently it is asked, what it may cost. Holds no key."""

from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from groundup.domain.records import Record


class ModelSettings(Record):
    """How a run asks its model. The key is not among it: it stays in the environment."""

    base_url: str | None = Field(default=None, description="address of the endpoint; None: the provider's own")
    api: Literal["chat", "messages"] | None = Field(
        default=None, description="what the endpoint speaks; None: what the provider speaks"
    )
    key_variable: str | None = Field(
        default=None, description="environment variable that holds the key; None: the provider's"
    )
    context_tokens: int | None = Field(default=None, ge=1, description="window of the model, if it is known")
    temperature: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="for requests that name none"
    )
    max_output_tokens: int | None = Field(default=None, ge=1, description="for requests that name none")
    extra: dict[str, JsonValue] = Field(default={}, description="further keys of every request's JSON")
    concurrency: int = Field(default=64, ge=1, description="calls at once to one endpoint, all attempts together")
    timeout_s: float = Field(default=600.0, gt=0, description="for the whole answer to one call")
    first_pause_s: float = Field(
        default=1.0, gt=0, description="before the second try, unless the endpoint says; doubled for each next one"
    )
    patience_s: float = Field(
        default=600.0, ge=0, description="how long a call is tried again after its first failure that may pass"
    )
    stream: bool = Field(
        default=False,
        description="ask for replies as streams; an endpoint that gives no others is asked so anyway",
    )
    prices: Path | None = Field(default=None, description="price file (TOML)")
    price: str | None = Field(
        default=None, description="USD per million tokens, INPUT:OUTPUT or INPUT:OUTPUT:CACHED; before the file's"
    )
    max_cost_usd: float | None = Field(default=None, gt=0, description="for all calls together")
    cache_dir: Path | None = Field(default=None, description="where replies are kept for reuse; None: nowhere")

    def identity(self) -> dict[str, JsonValue]:
        """Return what may change the replies, for a run's configuration; the address without credentials."""
        from groundup.models.endpoint import shown

        names = ("api", "context_tokens", "temperature", "max_output_tokens", "extra")
        told: dict[str, JsonValue] = {name: getattr(self, name) for name in names}
        return told | {"base_url": shown(self.base_url) if self.base_url else None}
