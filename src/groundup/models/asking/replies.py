"""What every form of reply becomes before it is priced."""

from groundup.domain.conversations import ChatReply
from groundup.domain.records import Record


class BrokenReplyError(Exception):
    """A reply with status 200 that does not say what a reply must say; another try may."""


class Parsed(Record):
    """A reply, and what of its input was written to the endpoint's own cache (some charge more for it)."""

    reply: ChatReply
    cache_write_tokens: int = 0
