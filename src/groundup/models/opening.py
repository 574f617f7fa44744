"""Opening a model by its name: an endpoint, or a script that stands in for one."""

from pathlib import Path

from groundup.models.cache import CachedModel
from groundup.models.client import EndpointModel
from groundup.models.endpoint import ModelEndpoint, RetryPolicy
from groundup.models.prices import CostLedger, price_of
from groundup.models.protocol import ChatModel
from groundup.models.settings import SCRIPTED, ModelSettings, key_of, parse_name, provider_of


def open_model(
    name: str, settings: ModelSettings | None = None, *, ledger: CostLedger | None = None, asked: bool = True
) -> ChatModel:
    """Return the model *name*, `provider/model`, to be entered as a context. Raises `UsageError`.

    *ledger* is the run's; without one the limit on the cost in *settings* counts from zero. A model that is never
    *asked*, as in a dry run, needs no key.
    """
    settings = settings or ModelSettings()
    model = _opened(name, settings, ledger or CostLedger(settings.max_cost_usd), asked=asked)
    if settings.cache_dir is None:
        return model
    return CachedModel(model, settings.cache_dir, settings.identity())


def _opened(name: str, settings: ModelSettings, ledger: CostLedger, *, asked: bool) -> ChatModel:
    parsed = parse_name(name)
    price = price_of(name, settings)
    patience = RetryPolicy.model_validate(settings.model_dump(include=set(RetryPolicy.model_fields)))
    if parsed.provider == SCRIPTED and settings.base_url is None:
        from groundup.models.scripted.server import ScriptedModel, load_script

        return ScriptedModel(load_script(Path(parsed.model)), parsed, settings, patience, price, ledger)
    provider = provider_of(parsed, settings)
    endpoint = ModelEndpoint(name, provider, key_of(provider) if asked else None, patience)
    return EndpointModel(parsed, provider, endpoint, settings, price, ledger)
