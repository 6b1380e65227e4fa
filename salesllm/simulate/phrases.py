"""How a talk is closed in English and in Chinese, clause by clause.

A clause comes in lower case, with straight apostrophes and half-width forms, without punctuation
at its ends. Thanks and fillers are taken off it; what is left has to be a phrase from its first
word to its last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from salesllm.dialogue import Language

LONGEST_CLAUSE = 80
"""Characters: no closing clause is longer."""


class Clause(Enum):
    """What a clause does.

    COURTESY says nothing that calls for an answer: thanks, acknowledgements, "later". REFUSAL
    refuses, perhaps only what was offered last. FINAL refuses for good: "any more", "不……了".
    FAREWELL leaves.
    """

    COURTESY = auto()
    REFUSAL = auto()
    FINAL = auto()
    FAREWELL = auto()


@dataclass(frozen=True)
class Phrases:
    """One language's patterns.

    Attributes:
        thanks: Taken out of a clause.
        fillers: Taken off the ends of a clause.
        clauses: What a clause is, the first that matches all of what is left.
        parting: Found in thanks for the whole talk, which say with a refusal that it is over.
        later: Found in a clause that leaves the door open, a farewell in the same breath or not.
        open: Found in a clause that asks or makes a condition.
        settles: Found in a clause that decides or names something beside a refusal.
        reports: Found at the end of a clause before somebody else's words.
        more: Found in a question that offers something besides the product.
        leave: Found at the end of a salesperson's message that says goodbye.
    """

    thanks: re.Pattern[str]
    fillers: re.Pattern[str]
    clauses: tuple[tuple[Clause, re.Pattern[str]], ...]
    parting: re.Pattern[str]
    later: re.Pattern[str]
    open: re.Pattern[str]
    settles: re.Pattern[str]
    reports: re.Pattern[str]
    more: re.Pattern[str]
    leave: re.Pattern[str]

    def read(self, clause: str) -> Clause | None:
        """What a clause does in closing a talk; None if it does anything else."""
        if len(clause) > LONGEST_CLAUSE:
            return None
        bare = self.fillers.sub("", self.thanks.sub(" ", clause).strip()).strip()
        for words in (clause, bare):  # "no thanks" is more than "no"
            for kind, pattern in self.clauses:
                if pattern.fullmatch(words):
                    return kind
        return None if bare else Clause.COURTESY


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE)


_FOR = (
    r"time|help|patience|info(?:rmation)?|explanations?|call|chat|answers?|advice|trouble|"
    r"everything|explaining|calling|listening|helping|understanding|that|it"
)
_IT = r"(?: (?:it|one|this|that|these|those|them|any(?: of (?:it|this|that|them))?|anything))?"
_I = r"(?:i|we)"
_AM = r"(?:i|we)(?:'m| am|'re| are)"
_MORE_TIME = r"(?:any ?more|any longer)"
_DAY = (
    r"(?:(?:i hope )?(?:you )?(?:have|enjoy) (?:an? |the rest of (?:your|the) |your )?(?:\w+ )?"
    r"(?:day|one|evening|night|afternoon|morning|weekend|week|time)(?: too| ahead| as well)?)"
)
_EN_FAREWELL = (
    r"(?:(?:good[ -]?)?bye+(?:[ -]?bye+)?(?: for now)?|farewell|so long|good ?night|cya|"
    r"(?:i'll )?see (?:you|ya|u)(?: (?:later|around|soon|then|there|next time|tomorrow|tonight))?|"
    r"(?:i'll )?(?:talk|speak) to you (?:later|soon)|(?:talk|catch you) later|until next time|"
    r"take care(?: of yourself)?|" + _DAY + r"|(?:i'm|i am) hanging up|i'?m done (?:here|talking)|"
    r"we're done(?: here)?|(?:i(?:'ve)? )?(?:got to|gotta|have to|need to|must) (?:go|run|hang up)|"
    r"(?:this|the) (?:conversation|call|chat) is over)"
)
_EN = Phrases(
    thanks=re.compile(
        r"\b(?:but )?(?:many )?(?:thanks|thank you|thx|cheers)\b(?: (?:so|very) much\b| a lot\b| again\b|"
        r" anyways?\b| though\b| all the same\b)*(?: for (?:(?:your|the|all|taking) )*"
        rf"(?:{_FOR})\b)?(?: and\b(?=.))?"
    ),
    fillers=re.compile(
        r"^(?:(?:ok|okay|alright|all right|right|well|so|then|anyways?|no|nope|nah|yes|yeah|yep|sure|"
        r"fine|great|good(?! ?night)|perfect|cool|awesome|sorry|oh|ah|look|listen|please|just|really|"
        r"honestly|hey|in that case|i guess|i'm afraid|i said)\b ?)+|"
        r"(?: ?\b(?:then|now|for now|again|please|sir|ma'am|man|mate|everyone|to you(?: too)?|too))+$"
    ),
    clauses=(
        (
            Clause.FAREWELL,
            _any(rf"{_EN_FAREWELL}(?: (?:and )?(?:{_EN_FAREWELL}|good luck|all the best))*"),
        ),
        (
            Clause.FINAL,
            _any(
                rf"{_I} (?:really |just )?(?:do not|don'?t) (?:need|want){_IT} {_MORE_TIME}",
                rf"{_I} no longer (?:need|want){_IT}|(?:{_AM} )?no longer interested",
                rf"(?:{_AM} )?not interested{_IT} {_MORE_TIME}",
                rf"{_I}(?:'ve| have)? decided (?:not to (?:buy|get|order|take){_IT}|against{_IT})",
                rf"{_I}(?:'ve| have)? (?:already |just )?(?:bought|got|ordered|found) "
                r"(?:it|one|something) (?:elsewhere|somewhere else)",
                rf"(?:don'?t|do not|never) (?:call|contact|text|message|e-?mail|bother) (?:me|us)"
                rf"(?: (?:again|ever again|{_MORE_TIME}))?",
                r"(?:stop|quit) (?:calling|contacting|texting|messaging|e-?mailing|bothering) "
                rf"(?:me|us)(?: {_MORE_TIME})?",
                r"leave me alone|lose my number|take me off your list|go away|get lost|fuck off",
            ),
        ),
        (
            Clause.REFUSAL,
            _any(
                r"(?:ok |well |sorry |oh )*no (?:thanks|thank you|thx)",
                rf"(?:{_AM} )?(?:really )?not (?:really |at all )?interested(?: (?:in{_IT}|at all))?",
                rf"{_I} (?:really )?(?:do not|don'?t) (?:really )?(?:need|want){_IT}",
                rf"{_I} (?:won'?t|will not) (?:be )?(?:buy|take|order)(?:ing)?{_IT}",
                r"(?:it|this|that)(?:'s| is) (?:just |really )?not for (?:me|us)",
                rf"{_I}(?:'ll| will) (?:have to )?pass|(?:it|that)'s a no(?: from me)?|forget it",
            ),
        ),
        (
            Clause.COURTESY,
            _any(
                r"if (?:i|we|anything) (?:ever )?(?:need|change|decide)s?\b.{0,30}",
                r"(?:maybe )?(?:i|we)(?:'ll|'d like to| will| need to| want to| have to)? "
                r"(?:think (?:about it|it over)|sleep on it|let you know|get back to you|be in touch|"
                r"reach out|call (?:you )?back|keep (?:it|that|you) in mind|leave it(?: there| at that)?|"
                r"wait(?: a (?:bit|while))?|look around(?: a bit)?|hold off|come back)"
                r"(?: (?:first|a bit|some more|later|when i decide|if i (?:need|change).{0,20}))?",
                r"(?:maybe )?(?:another|some other) (?:time|day)|(?:maybe )?later|not (?:today|right now)",
                r"i see|got it|understood|noted|fair enough|good to know|no (?:problem|worries)|wow|"
                r"sounds (?:good|great|fine)|excellent|wonderful|lovely|that makes sense|never ?mind",
                r"you(?:'ve| have) been (?:very |really |so )?(?:helpful|kind|patient)",
                r"you too|same to you|likewise|all the best|best wishes|good luck(?: with \w+)*",
                r"i (?:really )?appreciate (?:it|that|(?:the|your|all your) (?:\w+ )?(?:\w+))",
                r"(?:it was |been )?(?:nice|good|great|a pleasure) (?:talking|chatting|speaking|dealing)"
                r"(?: (?:to|with) you)?|(?:i have |i've )?no (?:more|further|other) questions",
                r"that'?s (?:all|it|everything)(?: for now| from me| i (?:need|needed|wanted))?",
            ),
        ),
    ),
    parting=_any(
        rf"(?:thanks|thank you)\b.* for (?:(?:your|the|all|taking) )*(?:time|help|patience|"
        r"info(?:rmation)?|explanations?|call|explaining|calling|listening)\b",
        r"(?:thanks|thank you) anyways?",
    ),
    later=_any(
        r"\b(?:think (?:about|it over|on it)|sleep on|let you know|get back to|be in touch|reach out|"
        r"call you|call back|ring you|keep (?:it|that|you) in mind|hold off|look around|come back|"
        r"another (?:time|day)|if (?:i|we) (?:ever )?(?:need|change|decide))\b"
    ),
    open=_any(
        r"^(?:(?:so|and|but|or|ok|okay|well|then) )*(?:what|how|when|where|which|who|why|can|could|"
        r"would|will|do|does|did|is|are|was|may|should) (?!not\b)",
        r"\b(?:if|unless|as long as|until|otherwise|or else|provided|in case|depend(?:s|ing)?|"
        r"wait|hold on|one more|by the way|wonder(?:ing)?|tell me|explain)\b",
    ),
    settles=_any(
        r"\b(?:i'?ll (?:take|have|get|buy|order|go|stick)|i (?:want|need|agree)|i'd (?:like|rather)|"
        r"deal|let's|just the|only the|instead|go ahead|order|warranty|wrap\w*|accessor\w+|deliver\w*|"
        r"insurance|install\w*|extras?|gift|receipt|upgrade|case)\b",
    ),
    reports=_any(r"\b(?:sa(?:id|ys?|ying)|told \w+|tells \w+|goes|like|called|means?|wr(?:ite|ote))$"),
    more=_any(
        r"\b(?:else|also|add|extra|another|other|as well|too|besides|warranty|protection|wrap\w*|"
        r"accessor\w+|deliver\w*|insurance|install\w*|gift|receipt|upgrade|case|bundle|subscri\w+|"
        r"questions?|help|know|hear|reminder|e-?mail|brochure|newsletter)\b",
    ),
    leave=_any(
        r"\b(?:good[ -]?bye|bye(?: for now)?$|take care(?! of\b(?! yourself))|all the best|farewell|"
        r"see you (?:then|soon|later|there|tomorrow|around)|good night|(?:have|enjoy|wish(?:ing)? you) "
        r"(?:an? |the rest of |your )*(?:\w+ ){0,2}(?:day|evening|afternoon|weekend|week|night|one))\b",
    ),
)

_WE = r"(?:我们?|咱们?|我家|家里)?"
_REALLY = r"(?:还是|真的|确实|实在|已经|都|也|就|是|说了|其实|真|现在|最后|决定|想好)*"
_TALK = r"(?:聊|说|谈|废话|啰嗦|扯)"
_ZH = Phrases(
    thanks=re.compile(
        r"(?:太|非常|十分|很|真是|真的|还是|也|先|不过)*(?:感谢|谢谢|多谢|谢)(?:[了啦啊哈呀哦你您亲哈]|各位)*的?"
        r"(?:耐心|推荐|介绍|讲解|解答|帮助|帮忙|回复|服务|时间|好意|提醒|热情|查询|建议)*[了啦啊哈呀哦]*"
    ),
    fillers=re.compile(
        r"^(?:好的?吧?|好[了嘞滴呢]|行吧?|行了|嗯+|哦+|噢+|哎呀?|唉|啊|对|可以|那么?|就|先|只能|只好|ok|okay|总之|"
        r"不好意思|抱歉|对不起|没事|没问题)+|[吧啊呀哈哦噢喔喽咯呢嘛哟您你亲]+$"
    ),
    clauses=(
        (
            Clause.FAREWELL,
            _any(
                r"(?:(?:不用了|不需要了|不要了|算了) ?)?(?:(?:跟|和|向)[你您])?(?:说|道)?[声一]*"
                r"(?:再见|再会|拜拜|掰掰|白白|回见|后会有期|晚安|(?:bye ?)+|88|886)+了?",
                r"(?:咱们?|我们)?(?:回头|改天|下次|明天|周末|到时候?|下周)见了?",
                rf"我?先?挂(?:了|断了|电话了)|我?(?:先|不想|懒得)?不?(?:跟[你您])?再?多?{_TALK}(?<!说)了",
                rf"(?:不|不想|懒得)(?:跟[你您])?再?多?{_TALK}(?:下去)?了",
                rf"(?:今天)?(?:就|先)*{_TALK}?到(?:此为止|这(?:儿|里)(?:了|结束)?)",
                r"我?(?:要|得|先|该)*(?:走|去忙|忙|下线|告辞|失陪|撤)了?(?<=[了辞陪])|我?还?忙着",
                r"我?就?不(?:打扰|打搅|耽误)[您你]?的?(?:时间)?了",
            ),
        ),
        (
            Clause.FINAL,
            _any(
                rf"(?:算了)?{_WE}{_REALLY}不(?:需要|买|办|办理|订|定|投|投保|考虑|打算买|想买|想要|想办|准备买|"
                r"开|开户|感兴趣)(?:这个|这款|它|你们的)?了",
                r"我们?(?:还是|真的|已经|也|就)*不要了",
                r"(?:请|麻烦|拜托)?(?:[你您]们?)?(?:以后|今后)?都?请?(?:别|不要|不用|不必|甭)再?(?:给我|来)*"
                r"(?:打|联系|发|推荐|推销|烦|骚扰|纠缠)(?:电话|我|消息|短信|广告|过来|来|给我|推销)*了?(?<!推荐了)",
                rf"{_WE}{_REALLY}(?:刚|早就)?(?:在|从)?(?:别家|别的地方|其他地方|别处|别人那(?:儿|里)?|其他平台|"
                r"另一家|其他家|网上)(?:都|已经)?(?:买|订|办|下单)[好到过]?了",
            ),
        ),
        (
            Clause.REFUSAL,
            _any(
                rf"{_WE}(?:这个|这款|这东西)?{_REALLY}(?:暂时|目前|先|今天|可能)?(?:不(?:需要|用|要|买|考虑|办|合适|"
                r"感兴趣|想[买要办]|适合我)?|没有?兴趣|没有?(?:这个)?需[要求]|用不[着上]|算|没打算买)了?(?<!不)",
            ),
        ),
        (
            Clause.COURTESY,
            _any(
                r"(?:如果|要是|以后|之后|下次|等)?我?(?:以后|之后|下次|回头)?有(?:问题|需要|需求)(?:的话)?我?"
                r"[再会]*[来去]?(?:找|联系|问|咨询|说)?",
                r"我?会?(?:有需要|以后|回头|改天|下次|到时候?)?再(?:说|聊|联系|找|来|看|考虑)",
                r"我们?(?:还是)?(?:先|再|要|得|需要|回去|回头|自己)*(?:考虑|想想|看看|商量|比较|对比|琢磨)"
                r"(?:一下|下|考虑|商量|看|再说|几天|再决定)*",
                r"(?:再|先|回去|回头)+(?:考虑|想想|看看|商量|比较)(?:一下|下|考虑|再说)*",
                r"收到|(?:我)?(?:知道|明白|清楚|了解|懂)了?|太好了|真好|不错|哈+|没关系|不?客气|辛苦了?|是的|成|好+",
                r"我?(?:真是|实在)?(?:打扰|打搅|麻烦|耽误|辛苦)(?:[您你]|了|的?时间|这么久)*",
                r"也?祝[您你].{1,12}|生意兴隆|生活愉快|多?保重",
                r"我?(?:暂时|目前|现在)?没有?(?:什么|啥|其[他它]|别的)*的?(?:问题|疑问|事|事情|需要)?(?:要?问)?[了啦]?",
                r"我?的?问题问完了",
                r"(?:这样|这么定|到这)了?",
            ),
        ),
    ),
    parting=_any(
        r"谢(?:谢|了)?[您你]?的?(?:耐心)?(?:介绍|讲解|解答|时间|耐心)|(?:打扰|打搅|耽误|辛苦)(?:[您你了])"
    ),
    later=_any(r"考虑(?!了)|想想|看看|商量|再(?:说|联系|看|聊|找|来)|有(?:需要|需求)|回头(?!见)"),
    open=_any(
        r"吗|怎么|(?<!没)(?<!没有)什么|多少|几[个天年块钱点号]|哪(?!怕)|谁|为什么|为啥|咋|(?<!着)呢$",
        r"(?:能不能|可不可以|行不行|好不好|要不要|是不是|有没有|会不会)",
        r"如果|要是|假如|除非|的话|只要|不然|否则|要不|再不|等[我你一下]|稍等|顺便|对了|还有[个一]|告诉我",
    ),
    settles=_any(
        r"下单|付款|成交|[我就]要|给我|来[一两个]|[买订拿要办][一两这那]|我[买办订]|那就|直接",
        r"延保|质保|保修|赠品|礼品|礼盒|包装|配送|送货|安装|配件|滤芯|套餐|发票|小票|袋|会员|试用|资料",
    ),
    reports=_any(r"(?:说|讲|叫|问|喊|回|写)(?:了|道|过|我|的|是|句|一句)*$"),
    more=_any(
        r"还|另外|再|顺便|一起|加|其[他它]|别的|延保|质保|保修|赠品|礼品|礼盒|包装|配送|送货|安装|配件|滤芯|套餐|发票|"
        r"小票|袋|会员|试用|资料|介绍|讲|了解|帮您|发您|发给|提醒"
    ),
    leave=_any(
        r"再见|再会|拜拜|晚安|慢走|后会有期|(?:回头|改天|下次|明天|到时候?)见|(?:生活|工作|周末|一天|一切|购物)"
        r"(?:愉快|顺利)|祝[您你].{0,12}(?:愉快|顺利|顺心|健康|平安)|(?:期待|欢迎)[您你]?的?(?:下次|再次)"
    ),
)

PHRASES: dict[Language, Phrases] = {"en": _EN, "zh": _ZH}
