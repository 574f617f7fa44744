"""What becomes of an attempt when its program ends."""

import pytest

from groundup.agents.cli.preset import Preset
from groundup.agents.cli.results import Finished, outcome_of
from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.errors import MachineError
from groundup.domain.limits import EpisodeLimits, Limits
from groundup.domain.subjects import Outcome
from groundup.domain.usage import TokenUsage
from groundup.models.exchanges import Account, Exchange, Stop
from groundup.models.protocol import BudgetSpentError, ModelError
from groundup.sandbox.protocol import CommandResult, Ending

PRESET = Preset(name="p", description="", protocol="chat", run=("p",))
REPLY = ChatReply(
    message=Message(role="assistant", content="x"), finish="stop", usage=TokenUsage(input_tokens=1), cost_usd=1.0
)


def result(exit_code: int | None = 0, ending: Ending = Ending.EXITED, stderr: bytes = b"") -> CommandResult:
    """Return how a program ended."""
    return CommandResult(exit_code=exit_code, ending=ending, stdout=b"", stderr=stderr, duration_s=1.0)


def account(limits: EpisodeLimits | None = None) -> Account:
    """Return an account with one reply."""
    made = Account(limits or EpisodeLimits())
    made.enter(REPLY)
    return made


def ended(
    done: CommandResult, stop: Stop | None = None, used: Account | None = None, *, more: bool = False
) -> Outcome:
    """Return the outcome."""
    last = Exchange(number=1, form="chat", request=ChatRequest(messages=()), reply=None if more else REPLY)
    return outcome_of(
        PRESET, Finished(result=done, limits=Limits(), stop=stop, last=last), used or account()
    ).outcome


def test_a_program_that_says_that_it_is_done_has_submitted() -> None:
    """Exit code 0 after replies of the model is a submission."""
    assert ended(result()) is Outcome.SUBMITTED


def test_a_program_that_fails_has_crashed_with_its_last_words() -> None:
    """Another exit code is reported with the last line that the program printed, without terminal colours."""
    finished = Finished(
        result=result(3, stderr=b"first\n\x1b[31mno key\x1b[0m\n\n"), limits=Limits(), stop=None, last=None
    )
    printed = outcome_of(PRESET, finished, account())
    assert (printed.outcome, printed.detail) == (Outcome.CRASHED, "the program ended with exit code 3: no key")


@pytest.mark.parametrize(("code", "ending"), [(0, Ending.EXITED), (3, Ending.EXITED), (None, Ending.TIMEOUT)])
def test_a_program_that_never_reached_its_model_failed_us(code: int | None, ending: Ending) -> None:
    """Without a single reply nothing was measured, however it ended: the attempt is owed, with its last line."""
    said = result(code, ending, b"unknown option --model\n")
    with pytest.raises(MachineError, match="before its model had answered once: unknown option --model"):
        ended(said, used=Account(EpisodeLimits()))


@pytest.mark.parametrize(
    "ending", [Ending.TIMEOUT, Ending.WALL_CLOCK, Ending.MEMORY, Ending.DISK, Ending.PROCESSES]
)
def test_a_limit_of_the_sandbox_is_a_limit(ending: Ending) -> None:
    """Time, memory, disk and processes are limits, whatever exit code comes with them."""
    assert ended(result(None, ending)) is Outcome.LIMIT


def test_the_limit_is_named() -> None:
    """Also where the program went on and ended well, after the kernel killed something that it had started."""
    told = Finished(result=result(None, Ending.MEMORY), limits=Limits(memory_mb=2048), stop=None, last=None)
    assert outcome_of(PRESET, told, account()).detail == (
        "the program needed more than the 2,048 MB of memory that it may have"
    )
    survived = Finished(result=result().but(met=(Ending.MEMORY,)), limits=Limits(), stop=None, last=None)
    assert "exit code 0; out of memory: a process was killed" in outcome_of(PRESET, survived, account()).detail


def test_a_spent_limit_decides_when_the_program_wanted_more() -> None:
    """The last reply that a limit allows may have been the last one needed; only who asks on was cut short."""
    stop = Stop(outcome=Outcome.LIMIT, detail="the limit of 1 turns is reached")
    limited = account(EpisodeLimits(turns=1))
    assert ended(result(), stop, limited, more=True) is Outcome.LIMIT
    assert ended(result(1), stop, limited) is Outcome.LIMIT
    assert ended(result(), stop, limited) is Outcome.SUBMITTED


def test_the_attempts_budget_is_an_outcome_and_the_runs_is_an_error() -> None:
    """An attempt that spent its own money is graded; one that the run has no money for is owed again."""
    stop = Stop(outcome=Outcome.BUDGET, detail="spent")
    own = account(EpisodeLimits(cost_usd=0.5))
    assert ended(result(1), stop, own, more=True) is Outcome.BUDGET
    with pytest.raises(BudgetSpentError):
        ended(result(1), stop, more=True)


def test_a_model_that_failed_for_good_is_no_fault_of_the_program() -> None:
    """An endpoint that cannot be reached makes the attempt owed again, also when the program ended well."""
    with pytest.raises(ModelError, match="unreachable"):
        ended(result(), Stop(outcome=Outcome.INFRASTRUCTURE, detail="unreachable"))


@pytest.mark.parametrize("exit_code", [0, 1])
@pytest.mark.parametrize("how", [{"error": "no", "declined": True}, {"reply": REPLY.but(finish="content_filter")}])
def test_a_model_that_would_not_go_on_is_no_crash(exit_code: int, how: dict[str, object]) -> None:
    """A program whose last question was declined, or whose last reply was cut by a filter, ends as refused."""
    last = Exchange.model_validate({"number": 1, "form": "chat", "request": ChatRequest(messages=()), **how})
    finished = Finished(result=result(exit_code), limits=Limits(), stop=None, last=last)
    assert outcome_of(PRESET, finished, account()).outcome is Outcome.REFUSED
