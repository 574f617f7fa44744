"""Answers that may be billed and are no reply are counted and asked for again; streams are heard meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.domain.usage import ModelUse
from groundup.models.attempts import AttemptModel
from groundup.models.client import EndpointModel
from groundup.models.opening import open_model
from groundup.models.prices import CostLedger
from groundup.models.protocol import BudgetSpentError, ModelError, RequestRejectedError
from groundup.models.settings import ModelSettings
from groundup.registries.server import Request, Response
from tests.models.conftest import saying
from tests.models.test_malformed import APIS, EVENTS, GOOD, Api
from tests.models.test_odd_replies import Answers, answer
from tests.patience import patient

TOKENS = 1_000_000.0


async def _torn(api: Api) -> AsyncIterator[bytes]:
    """Yield half of a stream, and break off."""
    events = EVENTS[api].split(b"\n\n")
    yield b"\n\n".join(events[: len(events) - 3 if len(events) > 4 else 1]) + b"\n\n"
    raise InfrastructureError("the endpoint breaks off here")


def torn(api: Api) -> Response:
    """Return a stream that breaks off half way."""
    return Response(200, _torn(api), "text/event-stream")


def settings_for(url: str, **further: object) -> ModelSettings:
    """Return settings of a model that costs a dollar a token."""
    patience = {"patience_s": patient(20), "first_pause_s": 0.01}
    price = f"{TOKENS}:{TOKENS}"
    return ModelSettings.model_validate({"base_url": url, "price": price, **patience, **further})


class Watch:
    """Remembers what it hears."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.use = ModelUse()

    def saying(self, text: str) -> None:
        """Remember it."""
        self.said.append(text)

    def lost(self, use: ModelUse) -> None:
        """Remember it."""
        self.use = self.use.with_use(use)


@pytest.mark.parametrize("api", APIS)
async def test_a_stream_that_breaks_off_is_counted_and_asked_for_again(api: Api) -> None:
    """The reply says what was lost before it; price and budget count both."""
    endpoint = Answers(torn(api), answer(GOOD[api]))
    ledger = CostLedger(None)
    async with endpoint.served() as url:
        settings = settings_for(url, api=api, stream=True)
        async with open_model("compatible/m", settings, ledger=ledger) as model:
            reply = await model.complete(saying("hi " * 50))
    assert (len(endpoint.asked), reply.tries, reply.message.content) == (2, 2, "Let me look.")
    assert reply.lost.input_tokens > 50
    assert reply.lost.output_tokens > 0
    both = reply.usage + reply.lost
    assert reply.cost_usd == pytest.approx(both.input_tokens + both.output_tokens)
    assert ledger.spent_usd == pytest.approx(reply.cost_usd)
    assert ModelUse().plus(reply) == ModelUse(turns=1, usage=both, estimated=True, cost_usd=reply.cost_usd)


async def test_broken_answers_are_asked_for_again_twice() -> None:
    """Each of three counts; then the call ends, however much patience is left, and what it cost is told."""
    endpoint, ledger, watch = Answers(Response(200, b'{"id": "x', "application/json")), CostLedger(None), Watch()
    async with endpoint.served() as url, open_model("compatible/m", settings_for(url), ledger=ledger) as model:
        assert isinstance(model, EndpointModel)
        with pytest.raises(ModelError, match="3 tries"):
            await model.complete(saying("hi " * 50), watch)
    assert len(endpoint.asked) == 3
    assert watch.use.estimated
    assert watch.use.usage.input_tokens > 150
    assert ledger.spent_usd == pytest.approx(watch.use.cost_usd)


async def test_the_budget_stops_what_would_be_paid_again() -> None:
    """A broken answer uses up what there was: nothing is sent any more."""
    endpoint = Answers(Response(200, b'{"id": "x', "application/json"))
    async with endpoint.served() as url:
        settings = settings_for(url, max_cost_usd=400.0, max_output_tokens=100)
        async with open_model("compatible/m", settings) as model:
            with pytest.raises(BudgetSpentError):
                await model.complete(saying("hi " * 100))
    assert len(endpoint.asked) == 1


async def test_a_failure_that_answers_nothing_costs_nothing() -> None:
    """Overload and errors in the place of a reply are tried again as long as there is patience, uncounted."""
    overloaded = answer({"error": {"message": "overloaded"}}, 503)
    hidden = answer({"error": {"message": "overloaded", "code": 503}})
    endpoint, ledger = Answers(*[overloaded] * 3, *[hidden] * 3, answer(GOOD["chat"])), CostLedger(None)
    async with endpoint.served() as url, open_model("compatible/m", settings_for(url), ledger=ledger) as model:
        reply = await model.complete(saying("hi"))
    assert (reply.tries, reply.lost.input_tokens) == (7, 0)
    assert ledger.spent_usd == pytest.approx(reply.usage.input_tokens + reply.usage.output_tokens)


@pytest.mark.parametrize("api", APIS)
async def test_what_a_stream_says_is_told_while_it_comes(api: Api) -> None:
    """The end of it is heard before it has ended, and that nothing is said afterwards."""
    watch, heard = Watch(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        events = EVENTS[api].split(b"\n\n")
        for number, event in enumerate(events):
            yield event + (b"\n\n" if number < len(events) - 1 else b"")
            if any("Files first." in text for text in watch.said):
                heard.set()
            if number == len(events) - 2:
                await asyncio.wait_for(heard.wait(), patient(20))

    watch_saying = watch.saying

    def saying_and_noting(text: str) -> None:
        watch_saying(text)
        if "Files first." in text:
            heard.set()

    watch.saying = saying_and_noting  # type: ignore[method-assign]
    endpoint = Answers(Response(200, slowly(), "text/event-stream"))
    async with endpoint.served() as url:
        settings = settings_for(url, api=api, stream=True)
        async with open_model("compatible/m", settings) as model:
            assert isinstance(model, EndpointModel)
            reply = await model.complete(saying("hi"), watch)
    assert reply.message.content == "Let me look."
    assert any("Let me look." in text for text in watch.said)
    assert watch.said[-1] == ""


async def _ended_early(url: str, end: Callable[["asyncio.Task[object]"], None], **further: object) -> Watch:
    watch = Watch()
    async with open_model("compatible/m", settings_for(url, patience_s=0.0, **further)) as model:
        assert isinstance(model, EndpointModel)
        task: asyncio.Task[object] = asyncio.ensure_future(model.complete(saying("hi " * 50), watch))
        end(task)
        with pytest.raises((ModelError, asyncio.CancelledError)):
            await task
    return watch


async def test_a_call_that_nobody_waits_for_is_counted() -> None:
    """Its time is over, or the attempt's is: the endpoint goes on, and may charge for it."""
    arrived, release = asyncio.Event(), asyncio.Event()

    class Silent(Answers):
        async def handle(self, request: Request) -> Response:
            self.asked.append(request)
            arrived.set()
            await release.wait()
            return answer(GOOD["chat"])

    async def cancel(task: "asyncio.Task[object]") -> None:
        await arrived.wait()
        await asyncio.sleep(0.1)
        task.cancel()

    helpers = []
    endpoint = Silent(answer(GOOD["chat"]))
    async with endpoint.served() as url:
        cancelled = await _ended_early(url, lambda task: helpers.append(asyncio.ensure_future(cancel(task))))
        late = await _ended_early(url, lambda task: None, timeout_s=1.0)
        release.set()
    await asyncio.gather(*helpers)
    assert cancelled.use.usage.input_tokens > 50
    assert late.use.usage.input_tokens > 50


async def test_nobody_answers_and_nothing_is_counted() -> None:
    """A call that never reached an endpoint costs nothing."""
    watch = await _ended_early("http://127.0.0.1:1/v1", lambda task: None)
    assert watch.use == ModelUse()


async def test_an_attempt_records_what_it_lost() -> None:
    """A call without a reply leaves a step, from which a resumed run knows what was paid."""
    endpoint = Answers(Response(200, b'{"id": "x', "application/json"))
    steps: list[dict[str, object]] = []
    async with endpoint.served() as url, open_model("compatible/m", settings_for(url)) as model:
        asked = AttemptModel(model, 0, lambda kind, **fields: steps.append({"kind": kind, **fields}))
        with pytest.raises(ModelError):
            await asked.complete(saying("hi"))
    (step,) = steps
    assert step["kind"] == "lost"
    assert step["cost_usd"] == pytest.approx(asked.lost_use.cost_usd)


async def test_a_rejected_request_costs_nothing() -> None:
    """An error with a status of its own is no answer."""
    endpoint, ledger = Answers(answer({"error": {"message": "no such key"}}, 400)), CostLedger(None)
    async with endpoint.served() as url, open_model("compatible/m", settings_for(url), ledger=ledger) as model:
        with pytest.raises(RequestRejectedError):
            await model.complete(saying("hi"))
    assert (ledger.spent_usd, json.loads(endpoint.asked[0].body)["model"]) == (0.0, "m")
