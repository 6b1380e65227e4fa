"""Reasoning that a model leaves in its reply: tags, channels and headings of many makers."""

from __future__ import annotations

import re

_NAMES = (
    r"(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|"
    r"inner_?monologue)"
)
_MARK = re.compile(
    rf"(?P<opens><{_NAMES}(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)|"
    rf"</{_NAMES}\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>",
    re.IGNORECASE,
)
# gpt-oss: channels with their tokens, or with the tokens taken out.
_CHANNELS = re.compile(
    r"<\|channel\|>\s*(?:analysis|commentary)|\Aanalysis(?=.*assistantfinal)", re.S
)
_FINAL = re.compile(r"<\|channel\|>\s*final.*?<\|message\|>|assistantfinal", re.S)
_HEADED = re.compile(
    r"\A[\s*#]*(?:thinking|thoughts?|thought process|reasoning|analysis|思考|思考过程|推理|分析)"
    r"\**\s*[:：].*?^[\s*#]*(?:(?:final )?(?:answer|response|reply)|回答|回复|答复)\**\s*[:：]\**",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_WRAPPER = re.compile(
    r"</?(?:answer|final|final_answer|response|reply|output|message)>|"
    r"<\|(?:begin|end)_of_solution\|>",
    re.IGNORECASE,
)


def without_reasoning(reply: str) -> tuple[str, int]:
    """The reply's answer, and how many pieces of reasoning were cut out of it.

    A piece that never ends takes the rest of the reply with it, and one that never began (where
    the prompt's template opens it) all that is before.
    """
    count = 0
    if headed := _HEADED.match(reply):
        reply, count = reply[headed.end() :], 1
    if reply.startswith("analysis") or "<|channel|>" in reply:
        reply, found = _last_channel(reply)
        count += found
    if "<" in reply or "[" in reply or "◁" in reply:
        reply, found = _outside_marks(reply)
        count += found
    return reply, count


def _last_channel(reply: str) -> tuple[str, int]:
    if not _CHANNELS.search(reply):
        return reply, 0
    finals = list(_FINAL.finditer(reply))
    return (reply[finals[-1].end() :] if finals else ""), 1


def _outside_marks(reply: str) -> tuple[str, int]:
    kept: list[str] = []
    count, start, inside = 0, 0, False
    for mark in _MARK.finditer(reply):
        if mark["opens"]:
            if not inside:
                kept.append(reply[start : mark.start()])
                count += 1
            inside = True
        else:
            if not inside:
                kept.clear()
                count += 1
            inside = False
        start = mark.end()
    if count == 0:
        return reply, 0
    if not inside:
        kept.append(reply[start:])
    return _WRAPPER.sub("", "".join(kept)), count
