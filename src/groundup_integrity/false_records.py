"""What an original does with false expectations: recorded in its recipe, so that no check accuses by it."""

import asyncio

from groundup.grading.context import GradingContext
from groundup.grading.library.execution import Overlay, run_to_the_end
from groundup.grading.library.hidden import FalseRecord, LibraryUnderTest, NumberedTest
from groundup_integrity.check import false_overlay, with_true_names
from groundup_integrity.false_forms import FalseForms, function_of, suite_of
from groundup_integrity.integrity import Draw, contradiction

SEEDS = 3
"""Of the false forms that the original is tried with."""


async def false_record(
    whole: LibraryUnderTest, expected: frozenset[NumberedTest], context: GradingContext
) -> FalseRecord:
    """Return what the original *whole* does with false expectations, over several seeds, and in reverse order.

    A test that passes has an expectation that is not always reached; it is made to fail at its end. What still
    does not fail then is free: it shows nothing. What fails in reverse order leans on another test.
    """
    suite = await asyncio.to_thread(suite_of, whole.original, whole.hidden.protected, expected)

    async def passing(tailed: frozenset[str], number: int) -> frozenset[NumberedTest]:
        forms = FalseForms(suite, f"oracle {number}", tailed)
        false = frozenset(key for key in expected if forms.can_be_false(key))
        overlay = await asyncio.to_thread(false_overlay, forms, Draw(false=false), sorted(false))
        async with context.slots.taken():
            run = with_true_names(await run_to_the_end(whole, context, overlay), overlay)
        return contradiction(Draw(false=false), run, "").passed_false

    async def over_seeds(tailed: frozenset[str]) -> frozenset[NumberedTest]:
        return frozenset.union(*await asyncio.gather(*(passing(tailed, number) for number in range(SEEDS))))

    free = await over_seeds(frozenset())
    tailed = frozenset(map(function_of, free))
    free = await over_seeds(tailed) if tailed else free
    return FalseRecord(
        runs=SEEDS, tailed=tuple(sorted(tailed)), free=free, leaning=await leaning_tests(whole, expected, context)
    )


async def leaning_tests(
    whole: LibraryUnderTest, expected: frozenset[NumberedTest], context: GradingContext
) -> frozenset[NumberedTest]:
    """Return the tests that the original *whole* passes in the suite's order and not in the reverse one."""
    async with context.slots.taken():
        ordered = (await run_to_the_end(whole, context)).report.results
        order = tuple(key for key in reversed(ordered) if key in expected)
        run = await run_to_the_end(whole, context, Overlay(chosen=order))
    return contradiction(Draw(true=frozenset(order)), run, "").failed_true
