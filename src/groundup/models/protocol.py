"""What every chat model can do, and how it can fail. Knows no agent."""

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from groundup.domain.errors import GroundupError, InfrastructureError

if TYPE_CHECKING:
    from groundup.domain.conversations import ChatReply, ChatRequest
    from groundup.domain.usage import ModelUse


class ChatModel(Protocol):
    """A model behind an endpoint; used as a context, shared by all attempts of a run."""

    name: str
    """`provider/model`, as the user named it."""
    context_tokens: int | None
    """How many tokens a request and its reply may have together; None: not known."""

    async def complete(self, request: "ChatRequest", watch: "CallWatch | None" = None) -> "ChatReply":
        """Return the model's reply, and tell *watch* what happens until then.

        Retries what may pass; raises one of the errors below for the rest.
        """
        ...

    async def count_tokens(self, request: "ChatRequest") -> int:
        """Return how many input tokens *request* has: counted where the endpoint can, otherwise from above."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None: ...


class CallWatch(Protocol):
    """Hears of one attempt's calls while they are under way."""

    def saying(self, text: str) -> None:
        """Take the end of a reply that is being streamed; empty: nothing is being written."""
        ...

    def lost(self, use: "ModelUse") -> None:
        """Take what a call without a reply may have cost: its answer broke off, or the call was cancelled."""
        ...


class ContextOverflowError(GroundupError):
    """The request is larger than the model's window; the agent must shorten it."""


class RefusedError(GroundupError):
    """The endpoint would not answer this request for its content."""


class BudgetSpentError(GroundupError):
    """The run's or the attempt's money or tokens are spent; nothing was sent."""


class ModelError(InfrastructureError):
    """The endpoint failed, is unreachable or rejects the request's form or key; trying later may help."""


class RateLimitedError(ModelError):
    """The endpoint is overloaded or limits calls for longer than we wait."""


class UnusableModelError(ModelError):
    """No attempt can be answered until the user mends something, which the text names."""


class EndpointUnreachableError(UnusableModelError):
    """Nothing that answers as a model does is at the address."""


class KeyRejectedError(UnusableModelError):
    """The endpoint does not accept the key, or its account has no money left."""


class ModelAbsentError(UnusableModelError):
    """The endpoint has no such model, or is not at this address."""


class RequestRejectedError(ModelError):
    """The endpoint does not understand the request, as when a setting is wrong. Asking again is no help."""
