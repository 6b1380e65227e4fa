"""A rule-based rater of the selling: a stand-in for the LLM judge where none is at hand.

It looks for phrases in what the customer answers and maps what it finds to the judge's bands. It
is repeatable, reads no meaning, and errs on anything it has no phrase for. Tables call it `rules`,
and its scores are never averaged with a judge's.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from salesllm.dialogue import Language, Turn
from salesllm.scoring.selling import Evidence, SellingScore, customers_answers

NAME = "rules"


class Kind(StrEnum):
    """What an answer of the customer's shows."""

    COMMITMENT = "commitment"
    NEXT_STEP = "next_step"
    INFORMATION = "information"
    RESOLVED = "objection_resolved"
    REFUSAL = "refusal"
    WITHDRAWAL = "withdrawal"


_DAY = r"(today|tonight|tomorrow|(mon|tues|wednes|thurs|fri|satur|sun)day|next week)"
_ZH_DAY = r"(今天|今晚|明天|后天|周[一二三四五六日末]|星期[一二三四五六日天]|下周|[上下]午)"
_WILL = r"\b(i'?ll|i will|we'll|we will)( just)?"
_WONT = r"((do|will|would) not|don'?t|won'?t|wouldn't|(will|would|'ll|'d) never)( really)?"
_IT = (
    r"(it|one|two|both|them|this|that|these|yours?|"
    r"the (?!other|day|weekend|night|time|maths?|bank|risk|chance|hint))"
    r"(?! (into|as|up with|under|from|to|home|more|look|checked|(minute|hour|day|week)s?)\b)"
)
_ELSEWHERE = (
    r"\b(elsewhere|some(where|one|body) else|competitors?|from amazon|"
    r"(an|the )?other (shop|store|seller|dealer|place|company|site))\b"
)
_THERE = r"(it |one |mine |them )?(\w+ ){0,2}?" + _ELSEWHERE
_ZH_COUNT = r"([这那一两二三四五\d]+[个份台款套件单张箱盒瓶双把本只部辆条]|个|份)"
_ZH_END = r"[吧把啊呀哈啦哦了]*$"  # so that "买了" does not match in "买了也没用"
_ZH_BUY = r"(买|要|办|投|弄|签|订|定|拍|下单)"
_ZH_ELSEWHERE = r"(别家|别人家|别的(地方|店|平台)|其[他它](家|店|地方|平台))"

# Looked for in one clause at a time, in lower case and with straight apostrophes.
_PHRASES: dict[Language, dict[Kind, tuple[str, ...]]] = {
    "en": {
        Kind.COMMITMENT: (
            _WILL + r" (take|have|get|do|try|go for|go with) " + _IT,
            _WILL + r" (buy|order|sign up|open (it|one))\b",
            _WILL + r" (apply|pay)( for (it|one))?( now| today)?$",
            r"\b(i (do )?want|i'd like) to (buy|order|take " + _IT + ")",
            r"\b(i'?m|i am|we're|we are) (buying|taking|ordering) " + _IT,
            r"\b(i|we)('ve)? just (paid|signed up|placed (the|my|an) order)$",
            r"\b(charge my card|take my money)\b",
            r"^(yes |ok |okay |fine )*(i want it|do it|set (it|me) up)( for me| please)?$",
            r"\b(add it to my|start (on )?the) (order|basket|cart|paperwork)\b",
            r"\b(i'm|we're) (going|happy to go) (ahead|with (it|this|that|yours?))\b",
            r"\bsign (me|us) up\b",
            r"\bcount (me|us) in\b",
            r"\blet's (go ahead|proceed|order|buy)\b",
            r"\blet's (do|get|take|try|sign|open|go for|go with) (it|this)\b",
            r"^(ok |okay |yes |please |then )*go ahead( then| please)?$",
            r"^((ok|okay|alright|it's a) )?deal$",
            r"\byou('ve)? (sold|convinced) me\b",
            r"\bi'm (in|sold)$",
            r"^(buying|ordering) (it|one|this) (now|today|then)\b",
            r"\bi agree to (buy|take|sign)\b",
        ),
        Kind.NEXT_STEP: (
            r"\b(call|ring|text|email|message) me (back |again )?(on|at|after|this|" + _DAY + ")",
            r"\bsend (me|us|it|them|over)\b.*\b(link|details|form|quote|contract|invoice|papers?)",
            r"\b(i'll|i will|i can|we'll|we can) (come|drop|stop) (by|in|over|round)\b",
            r"\b(book|schedule|reserve) (me|us|a|an|the|it)\b",
            r"\b" + _DAY + r" (works|suits|is (fine|good|ok|okay)|at \d)",
            r"\bmy (number|e-?mail|address) is\b",
            r"\b(start|set up|try|do) (a|the) (free )?(trial|demo|pilot)\b",
            r"\bwhat do you need from me\b",
        ),
        Kind.INFORMATION: (
            r"\b(my|our) budget\b",
            r"\b(spend|pay|afford|invest|put in) (about|around|up to|at most|maybe) ",
            r"\b(i|we) (mostly |mainly |really )?(need|use|have|own|live|work|drive|travel)\b",
            r"\bit's (mostly |mainly |just )?for (me|us|my|our)\b",
            r"\bfor my (wife|husband|mother|father|mum|mom|dad|son|daughter|kids|parents|team)\b",
            r"\bmy (wife|husband|partner|boss|manager) (decides|has to|needs to|wants)\b",
            r"\b(i'm|we're) (looking for|after|worried|saving|planning)\b",
            r"\bmatters (most )?to (me|us)\b",
        ),
        Kind.RESOLVED: (
            r"\b(makes|make|made) sense\b",
            r"\bfair enough\b",
            r"\bgood to know\b",
            r"\b(that|this) (helps|settles it|answers|clears)\b",
            r"\bthat's (reassuring|reasonable|a relief|fine then|good enough|better than)\b",
            r"\bno (more|further) (questions|worries|doubts)\b",
            r"\bi can live with (that|it)\b",
            r"\b(you're right|good point)\b",
        ),
        Kind.REFUSAL: (
            r"\bno (thank(s| you)|thx|deal|way)\b",
            r"\bnot (really |at all )?interested\b",
            r"(?<!thinks )(?<!says )(?<!said )(^|\b(i|we) ?(really )?)" + _WONT + " "
            r"(need|want|buy|take|order|be (buying|taking))\b( (it|one|that|this|any)\b|$)",
            "(" + _WILL + r"|\brather) (buy|get|order|(have|take)(?= (it|one))) " + _THERE,
            r"\b(i|we)('ve)? (bought|ordered|already (got|bought|ordered)) " + _THERE,
            r"\b(i'?m|i am|we're|we are) (not|never) "
            r"(buying|taking|going to (buy|take|sign|order))\b",
            r"\bnot buying\b",
            r"\b(don'?t think|doubt) (i|we) (really )?(need|want) (it|one|that|this)\b",
            r"\bdon'?t think (i|we)('ll| will) (buy|take|get|order|need|want)\b",
            r"\b(not what i'm|doesn't suit|not worth it|rather (not|stick with))\b",
            r"\b(i'?(ll|d rather)?|i will|hard) pass\b",
            r"\b(i refuse$|count me out\b|(not a|no) chance$)",
            r"^(oh |just )*(go away|get lost|(piss|fuck|bugger) off|shut up(?! and take))\b",
            r"^((what|this is|it's) )?(an? )?waste of (my |your |our )?time\b",
            r"\bdecided against\b",
            r"\b(i said|it's a|i'm going to say|have to say) no\b",
            r"\bforget it\b",
            r"\bnot for (me|us)\b",
            r"\b(don'?t|do not) ((call|bother|contact) me\b|(call|ask|text|message)( again|$))",
            r"\b(stop (calling|wasting)|leave me alone|take me off)\b",
            r"\bhanging up\b",
            r"\bcan't afford (it|that|this)\b",
        ),
        Kind.WITHDRAWAL: (
            r"\bchanged my mind\b",
            r"\bon second thoughts?\b",
            r"\b(cancel|scrap) (it|that|my|the)\b",
            r"\bi take (it|that) back\b",
            r"\bforget what i said\b",
        ),
    },
    "zh": {
        Kind.COMMITMENT: (
            r"(^|我|那|行|好|就)((要|买|定|订|拍|拿下)了)+" + _ZH_END,
            r"^[我就那好行成直接呀]*(要|买它?|办|签(合同)?|订|定)" + _ZH_END,
            r"(^|我|就|行|好|那)(要|来|买|订|定|拿)" + _ZH_COUNT + "(.{1,4}的)?" + _ZH_END,
            r"(?<![不没再])(?<!没法)(下单|成交|拿下|付款了)" + _ZH_END,
            r"(那|好|行)就?(要|买|办|定|开)" + f"({_ZH_COUNT}|了|吧)" + _ZH_END,
            r"就(要|选|定|它|他)?(这|它|你们?家)[个款份台套种]?" + _ZH_END,
            r"(帮|给|替)我(办|弄|开|定|订|下单|安排|留|来|拿)(上|好|一下|(个|一个)?户|手续|"
            + _ZH_COUNT + ")?" + _ZH_END,
            r"算我一[个份]",
            r"^安排(上|一下)?" + _ZH_END,
            r"(就)?这么(定|办)" + _ZH_END,
            r"定下来",
            r"^(好的?|行|嗯)*我(同意|签|办|买)" + _ZH_END,
            r"决定(买|要|办|签|入手)",
            r"(现在|这就|马上|今天|今晚)[就去来]*(付款?|买|办|弄|签|下单|开户|申请)"
            + f"({_ZH_COUNT}|它)?" + _ZH_END,
        ),
        Kind.NEXT_STEP: (
            r"加.{0,3}微信",
            r"(发|寄|传)(给)?我.{0,8}(链接|合同|方案|报价)",
            r"(链接|合同|方案|报价)(发|寄|传)",
            _ZH_DAY + r".{0,8}(去|来|过去|过来|见|联系|打给|再聊|有空|方便|可以)",
            r"(我|可以|先)(约|预约|试用|试驾|试穿)",
            r"我的?(地址|电话|手机号?|微信)(是|发)",
            r"约(个|在|一下)",
        ),
        Kind.INFORMATION: (
            r"预算",
            r"(我|我们|家里|我家)(主要|一般|平时|现在|就是)?(需要|想要|想买|要用|用的是|有|住)",
            r"(给|帮)(我)?(爸|妈|父母|老人|孩子|儿子|女儿|老婆|老公|爱人|公司)",
            r"最多(能)?(出|花|给|投|放)",
            r"(老婆|老公|领导|老板|家里人?)(说了算|做主|得同意|得点头)",
            r"(最|比较|主要)(看重|在意|关心|担心)",
        ),
        Kind.RESOLVED: (
            r"放心(了|多了)",
            r"有(点)?道理",
            r"说得(对|是|也是|有理)",
            r"(?<!不)(?<!没法)(能|可以)接受",
            r"那(就|还|倒是?)(没问题|没事|行|可以|好|不错|挺好)",
            r"没(别的|其他|什么|啥)(问题|顾虑|疑问)了",
            r"这(下|回)(懂|清楚|明白)了",
        ),
        Kind.REFUSAL: (
            r"(不|没)需要",
            r"不(用|必|劳)了|^不了(?!解)|^免了吧?$",
            r"(?<!不是)不要(了|这个?$|$)",
            r"没(什么)?兴趣|不感兴趣",
            r"(?<!不是)不(想|打算|会|准备|愿意|同意)" + _ZH_BUY,
            r"(?<!不是)不(买|办|弄|定|签)(了|$)",
            r"不(太)?(合适|适合我)",
            r"不考虑",
            r"^(我|也|真)*用不[着上到]了?$|对我没.{0,2}用",
            r"(买|办|签|订|定|拍|下单)了?" + _ZH_ELSEWHERE,
            r"[在去找到从](京东|淘宝|拼多多|" + _ZH_ELSEWHERE + ")" + _ZH_BUY + "(?![过的])",
            r"^[啊哎唉嗯]*(还是|那就?|今天就)?算了(吧)?$",
            r"别(再)?(打(?!折)|推销|烦|说了|忽悠|发了|联系)|(别|不要)(给|帮)我" + _ZH_BUY,
            r"^(滚($|[吧啊开蛋远出])|拉倒|闭嘴|骗子(吧|$)|神经病|烦死[了人]|你?有病[吧啊])",
            r"^(没门$|休想|想都别想|我?拒绝)",
            r"(先|我)?挂了",
            r"不聊了",
            r"^(我觉得)?没(这个)?必要",
            r"买不起|^我?没那?个?闲?钱了?$",
        ),
        Kind.WITHDRAWAL: (
            r"改(了)?主意",
            r"反悔",
            r"还是(不要|不买|不办|别买|退)",
            r"(当我没说|刚才.{0,4}不算)",
            r"(取消|退掉|退了)(订单|吧|$)",
            r"不想(要|买|办)了",
        ),
    },
}  # fmt: skip
# A commitment that is a question: only somebody who is buying asks how to pay.
_CLOSING_QUESTION: dict[Language, tuple[str, ...]] = {
    "en": (
        r"\bwhere do i (pay|sign|order)\b",
        r"\bhow (do|can) i (pay|sign up|order|buy it)\b",
        r"\bcan i (pay|order|sign up) (now|here|today|by|with)\b",
    ),
    "zh": (
        r"(怎么|咋)(付款?|下单|办理|交钱|转账)(?!的)",
        r"(在)?(哪儿?|哪里)(付|下单|交钱|签)",
        r"(签|填)(哪儿?|哪里|什么)",
    ),
}
# What is only imagined is no commitment: "if it were cheaper, I'd take it".
_HYPOTHETICAL: dict[Language, str] = {
    "en": r"\b(if|unless|maybe|might|would have|and (i|we)('ll| will))\b",
    "zh": r"如果|要是|假如|除非|的话|便宜.{0,6}(就|我)|说不定|(?<=.)(?<!那)我就(要|买|定|办|下单)",
}
# Nor is what is denied, doubted, past or somebody else's, just before it: "I'm not sure I'll take
# it". In Chinese the two are one word.
_NOT_MEANT: dict[Language, str] = {
    "en": r"((?<!why )\bnot|n't|\b(dont|cant|wont|never|doubt|whether|before|until|when|once|"
    r"only (after|if)|he|she|they|everyone|everybody|people|says?|(?<!i )(said|told)))"
    r"( [\w']+){0,2} ?$",
    "zh": r"[不没别]((是|要|会|想|敢|能|给|帮|打算|确定|知道|决定|说).{0,4})?"
    + _ZH_BUY
    + r"|(?<![给帮其])([他她谁]|同事|朋友|邻居|别人|人家|觉得|以为).{0,4}"
    + _ZH_BUY
    + r"|以前|之前|去年|上次",
}
# And what is put off, just after it: "I'll take it once I get paid".
_PUT_OFF: dict[Language, str] = {
    "en": r"( it| one| this)? (until|when|once|only (after|if)|before (i|we|my|our|he|she|they))\b",
    "zh": r"(?!)",
}
# People leave the question mark out.
_QUESTION: dict[Language, str] = {
    "en": r"\?$|^(so |and )?((should|would|could|can|did|does|will|am|is|are) "
    r"(i|you|we|they|he|she|it|this|that|there)|do (i|you|we|they)|why|who|how)\b",
    "zh": r"\?$|.[吗嘛没不]$|(?<!不)([要买行办签会想能是])不\1",
}
# What may answer any question says something of the purchase only as the customer's last word.
_BARE: dict[Language, dict[Kind, str]] = {
    "en": {
        Kind.COMMITMENT: r"(yes|yeah|yep|ok|okay|sure) please|please do",
        Kind.REFUSAL: r"((oh|well|sorry|god|hell) )*(no|nope|nah|never|(absolutely|certainly|of "
        r"course) not)( (no|nope|never|sorry|bye|goodbye))*",
    },
    "zh": {
        Kind.REFUSAL: r"[啊哎唉嗯]*不(行|用|可能|[了啊呀吧的 ]|谢谢|(?<= )谢了|再见)*",
    },
}
# Not now is not no, nor is a no with a condition: it ends nothing.
_POSTPONED: dict[Language, str] = {
    "en": r"\b(for now|right now|today|at the moment|yet|if|unless)\b",
    "zh": r"先(?!挂)|暂时|今天|最近|现在|改天|如果|要是|除非|的话",
}


def _any(phrases: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{phrase})" for phrase in phrases))


_KINDS = {
    language: {kind: _any(phrases) for kind, phrases in kinds.items()}
    for language, kinds in _PHRASES.items()
}
_CLOSING = {language: _any(phrases) for language, phrases in _CLOSING_QUESTION.items()}
_IMAGINED = {language: re.compile(phrase) for language, phrase in _HYPOTHETICAL.items()}
_UNMEANT = {language: re.compile(phrase) for language, phrase in _NOT_MEANT.items()}
_DELAYED = {language: re.compile(phrase) for language, phrase in _PUT_OFF.items()}
_ASKED = {language: re.compile(phrase) for language, phrase in _QUESTION.items()}
_LATER = {language: re.compile(phrase) for language, phrase in _POSTPONED.items()}
_SENTENCE_END = re.compile(r"(?<=[!?;。\n])|(?<=\.)(?!\d)")
_CLAUSE_END: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r",(?!\d)|\s+but\s+|\s+so\s+(?=(?:i|we)\b)"),
    "zh": re.compile(r",(?!\d)|\s+"),  # a space is a pause there
}
_DECISIVE = (Kind.COMMITMENT, Kind.NEXT_STEP, Kind.REFUSAL, Kind.WITHDRAWAL)


def find_evidence(turns: Sequence[Turn], language: Language) -> list[Evidence]:
    """What the customer's answers show, in their order.

    A refusal after a commitment is a withdrawal. Without one, "not now" is no refusal. A bare "no"
    or "yes please" counts as the last answer, where no other was decisive.
    """
    found: list[Evidence] = []
    committed = False
    answers = customers_answers(turns)
    for index, text in answers:
        for kind, clause in _read(text, language):
            if kind is Kind.REFUSAL and committed:
                kind = Kind.WITHDRAWAL
            elif kind is Kind.REFUSAL and _LATER[language].search(clause):
                continue
            committed = kind is Kind.COMMITMENT or (committed and kind is not Kind.WITHDRAWAL)
            found.append(Evidence(clause, index, kind))
    if answers and not any(each.kind in _DECISIVE for each in found):
        index, text = answers[-1]
        words = " ".join(re.sub(r"[^\w?]", " ", _plain(text)).split())
        found += [
            Evidence(words, index, kind)
            for kind, phrase in _BARE[language].items()
            if re.fullmatch(phrase, words)
        ]
    return found


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("’", "'")


def _read(text: str, language: Language) -> Iterator[tuple[Kind, str]]:
    text = _plain(text).replace("no, t", "no t")
    for sentence in filter(None, map(str.strip, _SENTENCE_END.split(text))):
        imagined = _IMAGINED[language].search(sentence) is not None
        for part in _CLAUSE_END[language].split(sentence):
            part, clause = part.strip(), re.sub(r"^\s+|[\W_]+$", "", part)
            kinds = {k for k, phrases in _KINDS[language].items() if phrases.search(clause)}
            if Kind.COMMITMENT in kinds and not _is_meant(clause, language):
                kinds -= {Kind.COMMITMENT}
            if _ASKED[language].search(part):
                kinds &= {Kind.NEXT_STEP}
            if _CLOSING[language].search(clause):
                kinds.add(Kind.COMMITMENT)
            if imagined:
                kinds -= {Kind.COMMITMENT, Kind.NEXT_STEP, Kind.WITHDRAWAL}
            if Kind.WITHDRAWAL in kinds:
                kinds = {Kind.WITHDRAWAL}
            elif Kind.REFUSAL in kinds:
                kinds = {Kind.REFUSAL}
            yield from ((kind, clause) for kind in Kind if kind in kinds)


def _is_meant(clause: str, language: Language) -> bool:
    """Whether one of the commitments in a clause stands as it is said."""
    for match in _KINDS[language][Kind.COMMITMENT].finditer(clause):
        before = clause[: match.start()] if language == "en" else clause
        if not _UNMEANT[language].search(before):
            return not _DELAYED[language].match(clause[match.end() :])
    return False


def rate(turns: Sequence[Turn], language: Language) -> SellingScore:
    """Scores a dialogue by the last decisive thing the customer said and by what came with it.

    0-1 refused or withdrew; 2-5 nothing decisive; 6-7 a concrete next step; 8-9 a commitment; 10 a
    commitment with a next step. Within a band it is more where the customer also gave information
    or had an objection resolved.
    """
    evidence = find_evidence(turns, language)
    counts = Counter(each.kind for each in evidence)
    decisive = [each.kind for each in evidence if each.kind in _DECISIVE]
    since = decisive[_after_last(decisive, (Kind.REFUSAL, Kind.WITHDRAWAL)) :]
    gained = min(counts[Kind.INFORMATION], 1), min(counts[Kind.RESOLVED], 1)
    if decisive and not since:
        score = max(gained)
    elif Kind.COMMITMENT in since:
        score = 10 if Kind.NEXT_STEP in since else 8 + max(gained)
    elif since:
        score = 6 + max(gained)
    else:
        score = 2 + gained[0] + 2 * gained[1]
    said = ", ".join(f"{counts[kind]} {kind.value}" for kind in Kind if counts[kind])
    return SellingScore(score, said or "no evidence", tuple(evidence))


def _after_last(kinds: Sequence[str | None], wanted: Sequence[Kind]) -> int:
    """Index after the last of `wanted`; 0 where there is none."""
    return max((i + 1 for i, kind in enumerate(kinds) if kind in wanted), default=0)
