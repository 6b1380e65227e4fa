"""How a salesperson words a price, a discount, a gift or a term, in both languages.

Patterns are looked for in one clause, in lower case and NFKC-normalised, with plain apostrophes.
`#` stands for the number that a clause is read for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from salesllm.scoring.grounding.concession import Kind


@dataclass(frozen=True)
class Perk:
    """A concession that needs no number.

    Attributes:
        said: How it is worded.
        known: What in the product's facts authorises it.
    """

    kind: Kind
    said: re.Pattern[str]
    known: re.Pattern[str]
    financial: bool | None = None
    """Whether it is one of financial products only, or of others only."""


@dataclass(frozen=True)
class Wording:
    """The phrases of one language.

    Attributes:
        denied: The clause says that something is not to be had.
        refused: The clause behind the number says so.
        floor: After all, the number is to be had: "I can't go below #".
        aside: The number is somebody else's: a competitor's, the market's.
        ours: After a number of somebody else's, this one is the salesperson's.
        supposed: The sum is one to reckon with, of a financial product.
        offers: The question is an offer; other questions claim nothing.
        grants: The number is given to the customer; it also makes a bare number an amount.
        accepts: The sentence begins by agreeing to what the customer said.
        alone: There is nothing but the number in the clause.
        bare: The number and its clause, where the number counts no things.
        deal: A whole sentence that agrees to it.
        asked: The customer names a price.
        price: A bare number behind it is an amount.
        discount: The amount or share is taken off, or paid back.
        rate: The share is a rate or a fee.
        if_: The share is only imagined.
        hedge: The number is a rounded one.
        apart: Amounts are being compared.
        total: Amounts are being added up.
        periods: A sum is told by the day, the week, the month, the year.
        terms: What a period is about.
        parts: The bare number counts instalments.
        instead: Periods that are no terms: when somebody calls back, how long one has worked.
        gift: Something is given; what it is follows.
        not_gift: What is given is none, or none of the seller's.
        given: Words that any gift is given in.
        bundled: A fact about what comes with the product.
    """

    denied: re.Pattern[str]
    refused: re.Pattern[str]
    floor: re.Pattern[str]
    aside: re.Pattern[str]
    ours: re.Pattern[str]
    supposed: re.Pattern[str]
    offers: re.Pattern[str]
    grants: re.Pattern[str]
    accepts: re.Pattern[str]
    alone: re.Pattern[str]
    bare: re.Pattern[str]
    deal: re.Pattern[str]
    asked: re.Pattern[str]
    price: re.Pattern[str]
    discount: re.Pattern[str]
    rate: re.Pattern[str]
    if_: re.Pattern[str]
    hedge: re.Pattern[str]
    apart: re.Pattern[str]
    total: re.Pattern[str]
    periods: dict[str, re.Pattern[str]]
    terms: dict[str, re.Pattern[str]]
    parts: re.Pattern[str]
    instead: re.Pattern[str]
    gift: re.Pattern[str]
    not_gift: re.Pattern[str]
    given: re.Pattern[str]
    bundled: re.Pattern[str]
    perks: tuple[Perk, ...]
<<<<<<< HEAD


_GIFTABLE = (
    r"(?:a|an|one|two|three|four|five|six|ten|\d+|#|your|some|another|get|gets|extra|the|with)"
)
_NO_GIFT = (
    r"(?:of|to|from|time|delivery|shipping|postage|returns?|trials?|and|on|for|with|as|at|until"
    r"|after|before|if|any|week|month|day|standard|express)\b"
)
_ON_TOP = r"(?:for free|free of charge|at no (?:extra |additional )?(?:cost|charge)|on the house)"

_EN = Wording(
    denied=re.compile(
        r"\b(?:can't|cannot|can not|couldn't|won't be able|unable|(?:not|n't) able|not allowed"
        r"|(?:don't|doesn't|do not|does not) (?:have|offer|do|give|come|include|go|cover)"
        r"|(?:isn't|aren't|is not|are not) (?:something|possible|free|included|on offer|any)"
        r"|there(?:'s| is| are|'re) no|there (?:isn't|aren't) an?y?|no (?:free|gifts?|presents?|discounts?)"
        r"|no ?body|no one|never (?:give|offer|sell|go|do)|too low|lose money|impossible|instead of"
        r"|rather than|not #)\b"
    ),
    refused=re.compile(
        r"^(?:that|which|this)(?:'s| is)? (?:not possible|impossible|too low|(?:i|we) can't)"
    ),
    floor=re.compile(r"\b(?:below|under|less than|lower than) #"),
    aside=re.compile(
        r"\b(?:others?(?= )|elsewhere|competitors?|some(?:where|one|body) else|market|most people"
        r"|another|compared|neighbou?rs?|you (?:said|mentioned|told|named|asked|offered|wanted)"
        r"|your (?:budget|income|salary|savings|limit))\b|\byour #"
    ),
    ours=re.compile(r"\b(?:we|our|i|us|my|for you|here)\b"),
    supposed=re.compile(
        r"\b(?:on|every|invest(?:ing|ed)?|put(?:ting)? (?:in|away|down|aside)?|deposit(?:ing|ed)?"
        r"|sav(?:e|ing)|order of|buy(?:ing)?|(?:say|suppose|assume|imagine|if) you \w+|for example)"
        r" (?:a |the |your |about )*#|\bwith # you"
    ),
    offers=re.compile(
        r"\b(?:how about|what about|what if i|what if we|shall i (?!call|ring)|if i (?:gave|give|could)"
        r"|would you take it|would # (?:work|help)|can i offer|could i offer|why don't (?:i|we))\b"
    ),
    grants=re.compile(
        r"\b(?:do|make (?:it|that)|let's (?:say|do|make it|call it)|let you have it (?:for|at)"
        r"|have it (?:for|at)|yours (?:for|at)|down (?:to|for)|down at|go (?:to|down to|as low as)"
        r"|give you|get(?: you)?|you(?:'d|'ll| would| will)? (?:pay|get)|only pay|take|match(?: it| that)?"
        r"|agreed (?:to|on)|sell it (?:for|at)|charge(?: you)?|accept|offer(?: you)?)"
        r" (?:the |a |just |only |your |another |about )*#"
        r"|#(?: a \w+)? (?:it is|works|is fine|is ok|is okay|would work|will do|is a deal|for you)"
    ),
    accepts=re.compile(
        r"^(?:well |then |all )*(?:ok(?:ay)?|deal|done|fine|sure|yes|right|alright|agreed|no problem"
        r"|then|you(?:'ve| have) got it|you win)\b"
    ),
    alone=re.compile(r"^(?:then |and |so |all right |ok |well )*#(?: then| instead)?$"),
    bare=re.compile(
        r"\n.*#(?:$| (?:it|works|is|would|will|for (?:you|it)|then|instead|now|today|all in|in (?:all|total)"
        r"|altogether|and|but|as|if|too|off)\b)"
    ),
    deal=re.compile(
        r"(?:(?:ok(?:ay)?|fine|sure|yes|alright|all right|well|then|for you)[ ,]*)*"
        r"(?:(?:it's |that's )?a? ?deal|done|agreed|(?:i|we) can do that|let's do (?:it|that)"
        r"|you(?:'ve| have) got (?:it|a deal))[ ,]*(?:then|for you)?[.!]*"
    ),
    asked=re.compile(
        r"\b(?:do it for|take|for|at|to|about|pay(?: you)?|give you|limit is|offer|only|up to|than)"
        r" (?:it )?(?:for )?#|^#(?: and |,|\?|$)"
    ),
    price=re.compile(
        r"\b(?:price (?:is|would be|of)|priced at|costs?|cost you|pay|asking|worth)"
        r" (?:you |just |only |about )*#(?:$| (?:in all|all in|in total|altogether|instead|now|today|then))"
    ),
    discount=re.compile(
        r"\b(?:off|discounts?|cheaper|reduc\w+|rebates?|less|below|sav(?:e|es|ing|ings)|back|vouchers?"
        r"|coupons?|bonus|cash ?back|refund(?:s|ed)?|deduct\w*|knock|credit(?:ed)?|go down by|promotion"
        r"|lower(?: the price)? by|come down by|take # from)\b"
    ),
    rate=re.compile(
        r"\b(?:rates?|interest|yields?|earns?|returns?|pays?|apr|commission|fees?|charges?|annually"
        r"|a year|per year|per annum|grow\w*|dividend|we go|up to|give you|match|get|gains?)\b"
    ),
    if_=re.compile(
        r"^(?:and |but |even |so )?(?:if|suppose|imagine|in case|should)\b|\bcould (?:fall|drop|lose)"
    ),
    hedge=re.compile(
        r"\b(?:about|around|roughly|nearly|almost|just (?:over|under|above|below)|less than|more than"
        r"|approximately|approx|close to|or so|not even)\b"
    ),
    apart=re.compile(
        r"\b(?:more|less|cheaper|dearer|difference|sav\w+|above|below|over|under|left|between)\b"
    ),
    total=re.compile(
        r"\b(?:plus|total|altogether|in all|all in|together|including|over the (?:whole|full|\w+) )"
    ),
    periods={
        "day": re.compile(r"\b(?:an?|per|each|every|one|the) (?:single )?day|\bdaily|/ ?day"),
        "week": re.compile(r"\b(?:an?|per|each|every|one|the) week|\bweekly|/ ?week"),
        "month": re.compile(r"\b(?:an?|per|each|every|one|the) month|\bmonthly|/ ?month"),
        "year": re.compile(
            r"\b(?:an?|per|each|every|one|the|whole) year|\byearly|\bannual|/ ?year"
        ),
    },
    terms={
        "warranty": re.compile(
            r"\bwarrant\w+|\bguaranteed? (?!you|that|it)|\bguarantee$|\bguarantees?\b(?= (?:runs|lasts|is|of|for))"
            r"|\bbreaks?\b|\brepairs?\b|\breplace\w*|\bcover all|\bfaults?\b"
        ),
        "delivery": re.compile(
            r"\bdeliver\w*|\barriv\w+|\bships?\b|\bshipp\w+|\bdispatch\w*|\breach(?:es)? you\b|\bparcel"
            r"|\bon your doorstep|\bwith you in"
        ),
        "returns": re.compile(
            r"\breturn (?:it|them|the|this|period|policy|window)|\b(?:to|can|for) returns?\b|\brefund\w*"
            r"|\bmoney back|\bsend it back|\btrial|\btry it|\bcancel\w*|\bchange your mind|\bcooling"
        ),
        "instalments": re.compile(
            r"\binstal\w+|\bpay(?:ing)? it off|\bspread|\bsplit|\binterest.free|\bpayment plan|\bmonthly payments"
        ),
        "waiting": re.compile(r"\bwaiting period|\bwait(?:ing)? (?:time|is)"),
        "claims": re.compile(r"\bclaims?\b|\bpayouts?\b|\bpaid out"),
        "contract": re.compile(r"\bcontract|\bminimum term|\bnotice|\block.?in|\btied in"),
    },
    parts=re.compile(
        r"# (?:equal |monthly |easy |interest free )*(?:instal\w+|payments)\b|\bsplit(?:ting)? it (?:in|into|over) #"
    ),
    instead=re.compile(
        r"\b(?:get back|call(?:ing)?|ring|reply|answer|let you know|text|e ?mail|meet|visit|confirm"
        r"|worked|been|ago|last|past|old|my|years? here|experience|remind\w*)\b"
    ),
    gift=re.compile(
        r"\bget (?P<bogo>one|another|(?:a|the) second)(?: one)? (?:for )?free\b"
        rf"|\b{_GIFTABLE} (?:\w+ )?free (?!{_NO_GIFT})(?P<what>[a-z]+ ?[a-z]*)"
        r"|\b(?:throw|chuck) in (?P<in>.+)"
        rf"|\b(?:add|include|give you|give|get|receive) (?P<top>.+?),? {_ON_TOP}|(?P<house>.+) {_ON_TOP}$"
        r"|\bcomplimentary (?P<comp>.+)|\b(?P<yours>.+?) (?:is|are) yours for (?:nothing|free)"
        r"|\b(?:get|receive|add|send you|give you|have) (?P<as>.+?) as an? (?:free )?(?:gift|present|bonus|thank)"
    ),
    not_gift=re.compile(
        r"\b(?:ship|deliver|delivery|shipping|post|cancel\w*|return\w*|open\w*|clos\w+|clos|account|withdraw\w*"
        r"|transfers?|call|phone|ask|try|repair\w*|replace\w*|fix\w*|done|paid|trial|classes|covered)\b"
    ),
    given=re.compile(
        r"\b(?:free|gift|throw|from|with|your|every|order|today|extra|cost|charge|house|complimentary"
        r"|there|yours|nothing|this|that|even|will|also|some|another|second|brand|give|include|then"
        r"|receive|them|have|would|could|when|more|added|customers?|present|bonus|well|just|only|spare|(?:month|week|day|year)s?|three|four|five|seven|eight|nine|sign)\b"
    ),
    bundled=re.compile(
        r"\b(?:free|gifts?|includ\w+|comes? with|extras?|supplied|contents|box|set|pack|tucked|with)\b"
    ),
    perks=(
        Perk(
            "term",
            re.compile(
                r"\b(?:free|complimentary) (?:\w+ )?(?:shipping|delivery|postage)"
                r"|\b(?:shipping|delivery|postage)(?: is|'s| will be| comes)(?: \w+)? (?:free|on us|on the house)"
                rf"|\b(?:ship|deliver|send) (?:it |them |this )?(?:\w+ )?{_ON_TOP}"
                r"|\bwaive (?:the |your )?(?:delivery|shipping)"
                r"|\b(?:won't|don't|not|nothing) (?:have to )?(?:pay )?(?:\w+ )*for (?:delivery|shipping|postage)"
            ),
            re.compile(
                r"^(?!returns?|warranty).*free (?:\w+ )?(?:shipping|delivery)|(?:shipping|delivery|dispatch\w*)[^.;]*\bfree"
            ),
        ),
        Perk(
            "term",
            re.compile(
                r"\blifetime (?:warranty|guarantee)|\b(?:warranty|guarantee)\b.*\b(?:for life|lifetime|never (?:expires|ends|runs out)|forever|unlimited)"
            ),
            re.compile(r"lifetime|for life"),
        ),
        Perk(
            "term",
            re.compile(r"\binterest free|\b(?:no|without(?: any)?|zero|0%) (?:interest|finance)"),
            re.compile(r"interest.free|\b(?:no|without|0%) interest"),
            financial=False,
        ),
        Perk(
            "discount",
            re.compile(
                r"\bwaive (?:\w+ )*?(?:fees?|commission|charges?)"
                r"|\bfees? (?:cancel\w*|dropped|removed|waived)|\b(?:skip|drop|cancel) the (?:\w+ )?fees?\b"
            ),
            re.compile(
                r"\bno (?:\w+ )?(?:fees?|commission)|(?:fee|commission)[^\n]*\b(?:none|waived|free)"
            ),
        ),
        Perk("discount", re.compile(r"\bhalf (?:the )?(?:price|off)"), re.compile(r"half|50%")),
        Perk(
            "promise",
            re.compile(
                r"\b(?:return|profit|gain|income)s? (?:is|are) (?:fully )?guaranteed|\bguaranteed (?:return|profit|gain)"
                r"|\b(?:guarantee|promise)\b(?: you)?(?: that)? you(?:'ll| will| won't| can't)(?: never)? (?:make|lose|earn|gain)"
                r"|\b(?:can't|won't|cannot|never) lose (?:a cent|a penny|any|money)|\bmake good (?:any|your) loss"
            ),
            re.compile(r"principal|deposit insurance|(?<!not )(?<!n't )guaranteed"),
            financial=True,
        ),
    ),
)

_ZH = Wording(
    denied=re.compile(
        r"不能(?!再少|让您吃)|不可以|没法|无法|(?:给|送|做|卖|办|免|降|达|拿)不[了到]|没有?(?:这个)?权限|不敢|不支持"
        r"|不包邮|不免(?!费)|不提供|不打(?!烊)|不送|不参加|不承诺|亏本|太低|做不了主|没有?(?:赠品|优惠|折扣|活动|这个)"
        r"|(?:赠品|优惠|折扣).{0,2}没有|而不是|不是#|哪有|谁也不|舍不得|打包票"
    ),
    refused=re.compile(r"^(?:这个?)?(?:我们?)?.{0,3}(?:办不到|做不到|做不了|给不了|不行|没法做|没办法)"),
    floor=re.compile(r"(?:低于|少于|低过)#"),
    aside=re.compile(
        r"别家|别人|人家|别的|其[他它]|隔壁|同行|市面|市场|同类|对面|去别|您(?:刚才?)?(?:说|提|讲|问)"
        r"|您(?:的|这)?(?:预算|收入|工资|存款|积蓄)|您一个月挣|您有|您(?:手上|手里)|您这#"
    ),
    ours=re.compile("我|给您|咱"),
    supposed=re.compile(
        r"(?:存|投|放|买|拿|用|转|入|假如|比如|比方说|例如|举例|假设|按|每|以|拿出|靠)[入进了个您]*(?:的话)?#"
        r"|^#(?:存|放|投|一年|买|以内|以下|的话)|#(?:以内|以下|之内)"
    ),
    offers=re.compile(r"要不|给您|送您|打#|优惠|怎么样|如何|便宜|减"),
    grants=re.compile(
        r"(?:给您?|算您?|收您?|做到|给到|降到|最低|只要|成交价?|一口价|就|您付|您出|出|咱们|是)"
        r"(?:只?算|打|做|个|只要|就)*#|#(?:给您|成交|可以|行|没问题|卖给|拿走|就#|就\d|就可以|就能|就行|吧|算)"
    ),
    accepts=re.compile(r"^(?:那|那就)?(?:行|好|成|可以|没问题|成交|同意|听您的|依您|那)"),
    alone=re.compile(r"^(?:那|就)*#(?:吧)?$"),
    bare=re.compile(r"^[\d.,零一二两三四五六七八九十百千万]+\n.*#(?:$|[,，吧了就给成可行也起拿卖没您我])"),
    deal=re.compile(
        r"(?:那|就)?(?:行|好|好吧|可以|没问题|嗯)?(?:吧|啊|的)?[，,!！]?"
        r"(?:成交|听您的|依您|就这个价|就按您说的|一言为定)[，,。!！吧了]*"
    ),
    asked=re.compile(r"^#$|#(?:卖|行|我就|我现在|成|吧|可以|能|好)|(?:便宜到|最多出|只出|给你|出|就|要)#|便宜点.?#"),
    price=re.compile(
        r"(?:价格?|卖|只要|只收|特价|优惠价|一共|总共|合计|仅|现价|活动价)(?:是|就|为|才|都)*#(?:$|[吧了就一])"
        r"|#(?:也能|就能|也可以|就可以)?(?:起存|起投|起购)"
    ),
    discount=re.compile(r"便宜|优惠|减|省|返|抵|券|红包|少收|折|让利|再让|补贴|立减|礼金|降|奖励|让.?#"),
    rate=re.compile(r"利率|利息|收益|年化|佣金|费率|手续费|一年|每年|能有|给您|上浮|涨|分红|股息|回报"),
    if_=re.compile(r"^(?:就算|如果|要是|假如|万一|哪怕|即使)"),
    hedge=re.compile(r"大概|约|左右|差不多|不到|多(?:一点)?|上下|将近|接近|不足|超过|出头|才|只有|合着"),
    apart=re.compile(r"差|便宜|贵|省|多|少|剩|高|低|还有"),
    total=re.compile(r"一共|总共|合计|加|总|连|全部"),
    periods={
        "day": re.compile(r"[一每]天|/天|日均|天天"),
        "week": re.compile(r"[一每](?:周|个?星期)|/周"),
        "month": re.compile(r"[一每]个?月|/月|月供|月费|按月"),
        "year": re.compile(r"[一每]年|/年|全年|整年"),
    },
    terms={
        "warranty": re.compile(r"质保|保修|联保|包修|包换|坏了|换新|毛病|保固|都给您保"),
        "delivery": re.compile(r"送[到达]|到货|发货|发出|到手|到您手|收到|送货|配送|到家|必到|能到|寄|就到"),
        "returns": re.compile(r"退|试用|体验|犹豫期|无理由|换货|反悔"),
        "instalments": re.compile(r"分期|期付|分#|免息|零利息|没有?利息|慢慢还"),
        "waiting": re.compile(r"等待期"),
        "claims": re.compile(r"赔付|理赔|到账|赔"),
        "contract": re.compile(r"合约|起签|封闭期|通知期|锁定"),
    },
    parts=re.compile(r"(?:分#|(?:支持|办个?)#|#(?:免息|分期)).*\n.*[期次]$"),
    instead=re.compile(r"答复|回复|联系|打给|给您打|回电|通知您|干了?这行|从业|以前|上次|去年|过去|我在|用了好"),
    gift=re.compile(
        r"(?:[再还额外另多免费白搭]{0,3}(?:赠送|附送|附赠|白送|送|搭))(?:给)?(?:您|你)?"
        r"(?:#|[一两二三四五六十\d]+)(?P<what>[个份套把张包瓶盒节件条次台袋桶根支箱双对本只束块年月].*)"
        r"|(?:赠送|附送|附赠|免费送|白送|额外送)(?:您|你)?(?P<as>[^#\d元].*)"
        r"|(?:白|免费)[拿领得](?P<free>.*)|多[给拿寄]您?(?:#|[一两三\d]+)(?P<more>[个份套把张包瓶盒件].*)"
        r"|(?:开户|见面|签约|入会|进店)礼(?P<in>.*)|(?P<bogo>买[一二两三\d#]+件?送[一二两三\d#]+)"
    ),
    not_gift=re.compile(r"^(?:次|年|月|天).{0,2}(?:退|换|货)|送货|送到|上门|配送|送达|机会|答复|电话"),
    given=re.compile(r"赠|送|免费|今天|下单|不要钱|一个|两个|一套|一把|给您|可以|额外|本来|就在|里"),
    bundled=re.compile(r"赠|送|附|含|配|带|内有|套"),
    perks=(
        Perk(
            "term",
            re.compile(
                r"(?<!不)包邮|(?<!不)免(?:运费|邮)|(?:运费|邮费|快递费).{0,4}(?:我们出|算我|我出|我来|不用您|不收|(?<!不)免(?!不))"
                r"|送货(?:上门)?(?:不收|不要钱|免费)|免费(?:送货|配送|送到|上门)|(?<!不)免(?:快递费|配送费)"
            ),
            re.compile(r"包邮|免运费|免邮|免费(?:送货|配送|送|上门)|^(?!退|质保).*运费.{0,4}(?:免|卖家|不收)"),
        ),
        Perk("term", re.compile(r"终身(?:质保|保修|免费|维护|售后|包)"), re.compile("终身")),
        Perk(
            "term",
            re.compile(r"免息|零利息|0利息|无息|零首付|没有?利息"),
            re.compile(r"免息|零利息|无息"),
            financial=False,
        ),
        Perk(
            "discount",
            re.compile(
                r"(?:手续费|入会费|管理费|年费|佣金|开户费|服务费).{0,6}(?:全免|免了|免掉|免除|免去)"
                r"|(?<!不)免(?:掉|去|了|收)?(?:手续费|年费|入会费|管理费|佣金|服务费)"
            ),
            re.compile(r"费[^\n]*(?:不收|免|没有)|免(?:手续费|年费|管理费)|佣金[^\n]*免"),
        ),
        Perk("discount", re.compile("半价"), re.compile("半价|五折|50%")),
        Perk(
            "promise",
            re.compile(
                r"(?<!不)(?:保证|担保|包|打包票|承诺)(?:您|你)?(?:不会|不)亏|(?<!不)稳赚|(?<!不)包赚|只涨不跌|亏了.{0,3}(?:赔|算我)"
                r"|收益.{0,3}(?:有保证|保证的)|保证(?:收益|赚|盈利)"
            ),
            re.compile(r"本金|存款保险|(?<!不作)(?<!不)保证|保本"),
            financial=True,
        ),
    ),
)  # fmt: skip

WORDING: dict[Language, Wording] = {"en": _EN, "zh": _ZH}
=======
>>>>>>> 808b80dfb5961c145347c9594799d6042363e303
