"""What a reply says: without thoughts and the signs of its template; and whether that refuses."""

import re

from groundup.domain.conversations import ChatReply

_APOSTROPHE = "['\N{RIGHT SINGLE QUOTATION MARK}]?"
_THOUGHTS = re.compile(
    r"\A\s*(?:<\|?(?P<tag>(?:begin_of_)?(?:think|thinking|thoughts?|reasoning|scratchpad|analysis))\|?>.*?"
    r"<\|?(?:/(?P=tag)|end_of_thought)\|?>|\[THINK\].*?\[/THINK\]|◁think▷.*?◁/think▷)\s*"
    r"|\A(?:(?!<think>).)*?^[ \t]*</think>\s*$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""Servers without a parser for a model's thoughts leave them there; some templates open them in the prompt."""
_OPENS_REFUSAL = re.compile(
    rf"\A\W*((i{_APOSTROPHE}m (very |really )?sorry|i am sorry|sorry,|my apologies|i apologi[sz]e"
    rf"|i can{_APOSTROPHE}t|i cannot|i can not|i won{_APOSTROPHE}t|i will not"
    rf"|i{_APOSTROPHE}m (unable|not able)|i am (unable|not able)"
    r"|unfortunately,? i|as an ai|i must decline|i have to decline|lo siento|no puedo|désolée?|je suis désolée?"
    r"|je ne peux pas|(es )?tut mir leid|ich kann (ihnen |dir )?(dabei |hierbei )?nicht|desculpe|não posso)\b"
    r"|很?抱歉|对不起|對不起|我无法|我無法|我不能|作为一个?(ai|人工智能)"
    r"|申し訳|죄송|извините|к сожалению|я не могу)",
    re.IGNORECASE,
)
"""What stands first, in the languages in which models refuse most."""
_HOLDS_REFUSAL = re.compile(
    r"\b(against|violates?) (my|our|the) (\w+ )?(guidelines|polic(y|ies)|principles)"
    rf"|\bi won{_APOSTROPHE}t be able to\b|\bi (must|have to|need to|will) (respectfully |politely )?decline\b"
    rf"|\bi(?:{_APOSTROPHE}m| am|)? ?(can{_APOSTROPHE}t|cannot|can not|won{_APOSTROPHE}t|will not"
    r"|unable to|not able to|not going to|not comfortable)"
    r" (assist|help|comply|fulfill?|provide|produce|reproduce|generate|write|create)\b",
    re.IGNORECASE,
)
"""What stands after a polite word."""
_LONGEST_REFUSAL = 1500
_CONTROLS = re.compile(r"(?:<[|\uFF5C][\w\u2581]+[|\uFF5C]>|</s>|<end_of_turn>)\Z")
"""What ends a turn in a model's template, where a server leaves it."""
_LAST_CHANNEL = re.compile(r"\A.*<\|channel\|>final\s*(?:<\|constrain\|>\w+)?<\|message\|>", re.DOTALL)


def said(reply: ChatReply) -> str:
    """Return what a reply says, without thoughts, signs of its template and a fence around the whole of it."""
    text = _LAST_CHANNEL.sub("", reply.message.content)
    text = _THOUGHTS.sub("", text)
    if reply.finish == "length" and re.match(r"\s*<think(ing)?>", text):
        return ""  # it was still thinking
    while (ended := _CONTROLS.sub("", text.rstrip())) != text.rstrip():
        text = ended
    return _unwrapped(text)


def _unwrapped(text: str) -> str:
    """Return *text* without a fence that is around all of it, which holds further ones."""
    opening, _, inside = text.strip().partition("\n")
    if opening.strip() not in ("```markdown", "```md") or not inside.endswith("\n```"):
        return text
    inside = inside.removesuffix("```")
    return inside if re.search(r"^(```|~~~)\S", inside, re.MULTILINE) else text


def refuses(text: str) -> bool:
    """Whether a text without files says that its author will not do what was asked."""
    return len(text) < _LONGEST_REFUSAL and bool(_OPENS_REFUSAL.match(text) or _HOLDS_REFUSAL.search(text))
