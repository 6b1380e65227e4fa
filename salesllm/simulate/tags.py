"""Names of speakers that a model writes before its reply, and replies it writes for the other."""

from __future__ import annotations

import re

from salesllm.dialogue import Speaker

_CUSTOMER = "customer|client|buyer|shopper|prospect|caller|客户|顾客|买家|买方|消费者|客人"
_SALESPERSON = (
    "sales ?(?:person|man|woman|rep(?:resentative)?|agent|assistant|consultant|advis[eo]r|"
    "associate)|seller|vendor|agent|advis[eo]r|consultant|representative|"
    "销售(?:员|人员|顾问|代表|经理|方)?|售货员|推销员|业务员|导购员?|卖家|卖方|店员|营业员|"
    r"客服(?:人员)?(?!\s*[:：]\s*[\d+])|客户经理|理财经理|顾问"
)
_EITHER = "user|human|assistant|ai|chatbot|用户|助手|助理"
_TAG = re.compile(
    # Where a line or a sentence begins: **Customer (Ann):** [USER] 【客户】 <|im_start|>user
    r"(?:\A|(?<=\n)|(?<=[.!?…\"”)] )|(?<=[。！？…”）]))[ \t>]*"
    r"(?:\*\*|__)?(?P<open>[\[【]|#+ ?|<(?:\|(?:(?:im_start|start_header_id)\|>)?)?)?"
    rf"(?:(?P<salesperson>{_SALESPERSON})|(?P<customer>{_CUSTOMER})|(?:{_EITHER}))"
    r"(?: ?[(（][^()（）\n]{1,20}[)）])?"
    r"(?(open)(?:[\]】]|\|?>|<\|end_header_id\|>|(?=\n)))(?:\*\*|__)?"
    r"(?:[ \t]*[:：][ \t]*(?:\*\*|__)?|(?(open)|(?!)))[ \t]*",
    re.IGNORECASE,
)
_CLOSING_TAG = re.compile(rf"</(?:{_SALESPERSON}|{_CUSTOMER}|{_EITHER})>\s*\Z", re.IGNORECASE)
_RULE = " \t\n-=_*#"  # a line that parts two messages is none
_END_TOKEN = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end|end_of_text|return)\|>|</s>|<end_of_turn>|"
    r"<｜end▁of▁sentence｜>"
)


def own_words(reply: str, speaker: Speaker) -> tuple[str, int, int]:
    """What a side says itself, up to where the reply goes on as somebody else.

    A reply may begin with the other side's message: then that is skipped. "User" and "assistant"
    may be either side: the speaker at the start of a reply, later whoever was not speaking.

    Returns:
        Its words, how many tags were taken out of them, and 1 if messages of the other side were
        cut off, else 0.
    """
    tags = cut = 0
    if "<" in reply:
        if end := _END_TOKEN.search(reply):
            cut = int(bool(reply[end.end() :].strip()))
            tags = 1 - cut
            reply = reply[: end.start()]
        reply, closing = _CLOSING_TAG.subn("", reply)
        tags += closing
    if not any(sign in reply for sign in ":：[【<#"):
        return reply, tags, cut
    own, start, owner = "", 0, speaker
    for tag in _TAG.finditer(reply):
        if owner is speaker:
            own += reply[start : tag.start()]
        if not own.strip(_RULE):
            own = ""
        owner = _named(tag, owner.other if tag.start() else speaker)
        start = tag.end()
        if owner is speaker:
            tags += 1
        elif own:
            return own.rstrip(_RULE), tags, 1
        else:
            cut = 1
    return own + reply[start:] if owner is speaker else own, tags, cut


def _named(tag: re.Match[str], otherwise: Speaker) -> Speaker:
    for speaker in Speaker:
        if tag[speaker.value]:
            return speaker
    return otherwise
