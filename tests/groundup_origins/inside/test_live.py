"""What is put into a process that runs tests again."""

import asyncio

from groundup_origins.inside.live import renew_loop


def test_tests_find_an_event_loop_after_another_has_closed_or_taken_it() -> None:
    """As they did when they ran first; one that is there stays."""
    before = asyncio.new_event_loop()
    asyncio.set_event_loop(before)
    try:
        renew_loop()
        assert asyncio.get_event_loop_policy().get_event_loop() is before
        before.close()
        renew_loop()
        second = asyncio.get_event_loop_policy().get_event_loop()
        assert not second.is_closed()
        second.close()
        asyncio.set_event_loop(None)
        renew_loop()
        third = asyncio.get_event_loop_policy().get_event_loop()
        assert third.run_until_complete(asyncio.sleep(0, "woke")) == "woke"
        third.close()
    finally:
        asyncio.set_event_loop(None)
