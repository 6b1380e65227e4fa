"""Stage directions: what a model says that its side does, instead of what it says."""

from __future__ import annotations

import re

# What is in brackets or between asterisks; an asterisk of 3*5, of a list or of **bold** opens none.
_ASIDE = re.compile(
    r"(?P<left>(?:(?<![ \t])[ \t]+)?)(?:"
    r"\((?P<a>[^()\n]{1,80})\)|（(?P<b>[^（）\n]{1,60})）|"
    r"\[(?P<c>[^\[\]\n]{1,80})\]|【(?P<d>[^【】\n]{1,60})】|"
    r"(?<![A-Za-z0-9*\\])\*(?P<stars>[^\s*](?:[^*\n]{0,118}[^\s*])?)\*(?![A-Za-z0-9*])"
    r")(?P<right>[ \t]*)"
)

_WHO = r"(?:(?:(?:the )?(?:customer|client|salesperson|caller|speaker)|he|she|they|i) )?"
_HOW = r"(?:(?:and|then|still|a bit|[a-z]+ly),? )*"
_OWN = r"(?:(?:his|her|their|my|an?|one|the) )?"
_DIRECTION_EN = re.compile(
    # the face and the voice, alone or with how and at what
    rf"{_WHO}{_HOW}(?:(?:smil|laugh|chuckl|giggl|grimac|whisper|mumbl|mutter|snicker|scoff|groan|"
    r"hesitat|paus|sigh|smirk|frown|wink|gasp|blush|snort|nodd?|grinn?|shrugg?)(?:e?s|ing|ed))"
    r"(?:,? (?:[a-z]+ly|and|at|with|in|as|while|to|for|back|a|again|under|once)\b.*)?|"
    # what the body does
    rf"{_WHO}{_HOW}(?:"
    r"tak(?:es|ing) (?:an? |another )?(?:\w+ )?(?:breath|sip|moment|pause|notes?)\b.*|"
    rf"clear(?:s|ing) {_OWN}throat|rais(?:es|ing) {_OWN}(?:eye)?brows?.*|"
    rf"shak(?:es|ing) {_OWN}head.*|roll(?:s|ing) {_OWN}eyes.*|cross(?:es|ing) {_OWN}arms.*|"
    rf"(?:scratch|strok)(?:es|ing) {_OWN}(?:head|chin|beard).*|wav(?:es|ing)(?: goodbye| back)?|"
    r"lean(?:s|ing) (?:in|back|forward|closer)\b.*|glanc(?:es|ing) (?:at|over|around|away)\b.*|"
    r"think(?:s|ing)(?: (?:for a (?:moment|second|bit|while)|it over|about it|hard|aloud))?|"
    r"look(?:s|ing) (?:away|thoughtful|confused|surprised|impressed|interested|s[kc]eptical|"
    r"doubtful|relieved|unsure|hesitant|annoyed|at (?:you|him|her|them|his|their|my) .*)|"
    rf"check(?:s|ing) {_OWN}(?:phone|watch|notes|screen|calendar|wallet)\b.*)|"
    # how it is said
    r"(?:(?:long|short|brief|awkward|slight|thoughtful) )?(?:pause|silence|sigh|laughter|laugh)|"
    r"(?:sarcastic|hesitant|nervous|excited|thoughtful|sceptical|skeptical|impatient)(?:al)?ly|"
    r"in an? \w+ (?:tone|voice)|with an? \w+ (?:smile|tone of voice)|"
    r"(?:inner|internal) (?:thoughts?|monologue|voice)\b.*|(?:thinking )?to (?:him|her|my)self\b.*",
    re.IGNORECASE,
)
_WHO_ZH = r"(?:客户|顾客|销售|对方|她|他|我)?"
_HOW_ZH = r"(?:[轻微略稍缓默]{1,2}|有些|有点|连忙|再次|长长|[\u4e00-\u9fff]{2,4}地)?地?"
_DIRECTION_ZH = re.compile(
    rf"{_WHO_ZH}{_HOW_ZH}(?:"
    r"无奈|尴尬|惊讶|疑惑|不耐烦|开心|生气|失望|"
    r"(?:微|大|苦|冷|轻|偷|傻|尴)?笑(?:了一?笑|了(?:一下|起来|出声)?|着.{0,10}|声)?|一笑|"
    r"(?:微笑|笑)(?:着)?[，,].{1,12}|"
    r"点(?:了?点|着|了)?(?:头|了下头)(?:.{0,6})|摇(?:了?摇|着|了)?头(?:.{0,6})|"
    r"(?:长)?叹(?:了)?一?口?气|长叹一声|松了?一?口气|"
    r"沉默(?!成本|期|模式)(?:.{0,8})|停顿(?:.{0,6})|顿了顿|"
    r"(?:思考|沉思|思索)(?:片刻|中|着?|了?一(?:下|会儿?)|几秒)?|想了(?:想|一下|一会儿?)|"
    r"犹豫(?!期)(?:.{0,6})|迟疑(?:.{0,6})|皱(?:着|了|起)?(?:皱)?眉头?(?:.{0,4})|挑(?:了挑)?眉|"
    r"耸(?:了?耸)?肩|挥(?:了?挥)?手(?:告别)?|咳(?:咳|嗽?了?(?:一?[声下]|[两几]声))|清(?:了?清)?嗓子|"
    r"(?:语气|语调|神情|眼神)(?!词|助).{1,12}|表情(?!包|识别).{1,12}|"
    r"声音(?:压|放|变|提高|低了|里带|带着|有些|有点).{0,8}|"
    r"(?:小|低|轻)声(?:说|嘀咕|嘟囔|自语|问|道|地说)?|自言自语|翻(?:了个)?白眼|"
    r"(?:心想|心里想|内心独白|内心OS|旁白)(?:.{0,40})|"
    r"转身(?:离开|就走|要走|走开)?|起身(?:离开|要走)?|看了?看(?:手机|手表|时间|表|周围|四周)|看了一眼.{0,6}"
    r")[。！!…~～]*"
)
_GONE = re.compile(
    rf"{_WHO}{_HOW}(?:hangs? up|hung up|hanging up|ends? the (?:call|conversation|chat)|"
    r"(?:walks|walking) (?:away|off|out)|leaves the (?:chat|conversation|store|shop|call))"
    r"(?: the (?:phone|call))?|(?:the )?(?:call|conversation|chat|dialogue) (?:ends|ended|over)|"
    r"(?:end of|ends?) (?:call|conversation|chat|dialogue)|"
    rf"{_WHO_ZH}{_HOW_ZH}(?:挂(?:断|掉|了)(?:了)?(?:电话)?|结束(?:了)?(?:通话|对话|聊天)|离开了?)|"
    r"(?:通话|对话|聊天)(?:已)?结束|电话(?:已)?挂断",
    re.IGNORECASE,
)
# Between asterisks, where a sentence may begin, "adjusts his glasses" is no emphasis; "shipping not
# included" is.
_DOES = re.compile(
    r"[a-z]{2,}(?:s|ing) (?:[a-z]+ ){0,3}(?:his|her|their|my) (?:[a-z]+ )?(?:glasses|hair|head|"
    r"hands?|fingers?|arms?|chin|neck|nose|face|forehead|temples?|eyes?|lips?|shoulders?|foot|feet|"
    r"legs?|phone|wallet|purse|bag|pockets?|notes?|notebook|pen|cup|mug|coffee|tea|chair|seat|desk|"
    r"keys|jacket|coat|tie|sleeves?|screen|laptop|tablet|calculator|watch|voice|tone|breath)\b.*|"
    r"[a-z]{2,}(?:s|ing) (?:[a-z]+ ){1,2}the (?:brochure|catalogu?e?|leaflet|pamphlet|flyer)\b.*|"
    r"(?:gestur|point|gaz|star)(?:e?s|ing) (?:at|to|towards?|around|over|back) [a-z].*"
)
_NO_SPACE_BEFORE = set(".,!?;:，。！？；：\n")
_STARTERS = '\n.!?…。！？"”'


def without_directions(reply: str) -> tuple[str, int, bool]:
    """The reply without them.

    Returns:
        The text, how many there were, and whether one of them says that the speaker left.
    """
    if not any(sign in reply for sign in "*(（[【"):
        return reply, 0, False
    count, gone = 0, False

    def kept(aside: re.Match[str]) -> str:
        nonlocal count, gone
        inside = next(text for text in aside.group("stars", "a", "b", "c", "d") if text)
        inside = inside.strip(" ()（）[]【】.")
        leaves = _GONE.fullmatch(inside) is not None
        if not (leaves or _is_direction(inside, aside)):
            return aside[0]
        count += 1
        gone = gone or leaves
        after = reply[aside.end() : aside.end() + 1]
        spaced = (aside["left"] or aside["right"]) and after not in _NO_SPACE_BEFORE
        return " " if spaced else ""

    return _ASIDE.sub(kept, reply), count, gone


def _is_direction(inside: str, aside: re.Match[str]) -> bool:
    if _DIRECTION_EN.fullmatch(inside) or _DIRECTION_ZH.fullmatch(inside):
        return True
    if not (aside["stars"] and _DOES.fullmatch(inside)):
        return False
    before = aside.string[: aside.start()].rstrip(" \t")
    return not before or before[-1] in _STARTERS
