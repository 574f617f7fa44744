"""What a run may cost, guessed before it begins: from tokens that agents expect, and the model's price."""

from groundup.domain.conversations import TokenUsage
from groundup.domain.records import Record
from groundup.runs.generation import GeneratedSource, model_settings
from groundup.runs.options import RunOptions
from groundup.runs.plan import RunPlan
from groundup.settings import Settings


class Estimate(Record):
    """Tokens and money for all attempts of a run."""

    attempts: int
    usage: TokenUsage
    cost_usd: float | None
    """None: the model has no price."""

    def __str__(self) -> str:
        cost = "the model has no price" if self.cost_usd is None else f"about ${self.cost_usd:.2f}"
        tokens = f"{self.usage.input_tokens:,} input and {self.usage.output_tokens:,} output tokens"
        return f"a guess for {self.attempts} attempts: {tokens}, {cost}"


def estimate_of(plan: RunPlan, options: RunOptions | None) -> Estimate | None:
    """Return what making the submissions of *plan* may take; None where nobody can guess."""
    source = plan.source
    if not isinstance(source, GeneratedSource) or source.spec.model is None:
        return None
    usage = TokenUsage()
    for key in plan.planned.keys:
        expected = source.agent.expected_usage(plan.tasks[key.task], source.spec.limits)
        if expected is None:
            return None
        usage += expected
    return Estimate(
        attempts=len(plan.planned), usage=usage, cost_usd=_cost(source, source.spec.model, usage, options)
    )


def _cost(source: GeneratedSource, model: str, usage: TokenUsage, options: RunOptions | None) -> float | None:
    from groundup.models.prices import price_of

    price = price_of(model, model_settings(source, options or RunOptions(), Settings()))
    return None if price is None else price.cost_usd(usage)
