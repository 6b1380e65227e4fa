"""How an English salesperson words a concession."""

from __future__ import annotations

import re

from salesllm.scoring.grounding.wording import Perk, Wording

_GIFTABLE = (
    r"(?:a|an|one|two|three|four|five|six|ten|\d+|#|your|some|another|get|gets|extra|the|with)"
)
_NO_GIFT = (
    r"(?:of|to|from|time|delivery|shipping|postage|returns?|trials?|and|on|for|with|as|at|until"
    r"|after|before|if|any|week|month|day|standard|express)\b"
)
_ON_TOP = (
    r"(?:for free|free of charge|at no (?:extra |additional )?(?:cost|charge)"
    r"|on the house|gratis|(?:at )?no charge|my treat"
    r"|(?:absolutely|completely|totally|entirely) free)"
)

EN = Wording(
    denied=re.compile(
        r"\b(?:can't|cannot|can not|couldn't|won't be able|unable|(?:not|n't) able|not allowed"
        r"|(?:don't|doesn't|do not|does not) (?:have|offer|do|give|come|include|go|cover)"
        r"|(?:isn't|aren't|is not|are not) (?:something|possible|free|included|on offer|any)"
        r"|there(?:'s| is| are|'re) no|there (?:isn't|aren't) an?y?|no (?:free"
        r"|gifts?|presents?|discounts?)"
        r"|wish (?:i|we)|no ?body|no one|never (?:give|offer|sell|go|do)|too low"
        r"|lose money|i'd be lying|if i (?:said|told|promised)|impossible|instead of"
        r"|rather than|not #)\b"
    ),
    refused=re.compile(
        r"^(?:that|which|this)(?:'s| is)? (?:not possible|impossible|too low|(?:i|we) can't)"
    ),
    floor=re.compile(r"\b(?:below|under|less than|lower than) #"),
    aside=re.compile(
        r"\b(?:others?(?= )|elsewhere|internet|online|competitors?|somewhere|some(?:one|body) else"
        r"|market|most people"
        r"|another (?:shop|store|bank|seller|company|place)|compared|neighbou?rs?"
        r"|seen it|you(?:'ve| have) (?:seen|heard|read|paid)|you (?:said|mentioned"
        r"|told|named|asked|offered|wanted)"
        r")\b|\byour (?:budget|income|salary|savings|limit)\b.*#|\byour #"
    ),
    ours=re.compile(r"\b(?:but|however|though|so|we|our|i|us|my|for you|here)\b"),
    supposed=re.compile(
        r"\b(?:on|every|invest(?:ing|ed)?|put(?:ting)? (?:in|away|down|aside)?|deposit(?:ing|ed)?"
        r"|sav(?:e|ing)|order of|buy(?:ing)?|(?:say|suppose|assume|imagine|if) you \w+|for example)"
        r" (?:a |the |your |about )*#|\bwith # you"
    ),
    offers=re.compile(
        r"\b(?:how about|what about|what if i|what if we|shall i (?!call|ring)"
        r"|if i (?:gave|give|could)"
        r"|would you take it|would \S*\d\S* (?:be|work|suit|help|do)|can i offer"
        r"|could i offer|why don't (?:i|we))\b"
    ),
    grants=re.compile(
        r"\b(?:i|we)(?:'ll| will| can| could|'d| would|(?:'m| am|'re| are) (?:able"
        r"|happy|willing|glad))"
        r"(?: (?!see|understand|imagine|hear|ask|tell|know|than|not|only\b"
        r"|until\b|till\b)\S+){0,6} #"
        r"|\b(?:deal at|sell it to you (?:for|at)|settle (?:on|at|for)"
        r"|approve) (?:the )?#|#(?: off)? (?:is )?approved"
        r"|\b(?:do|make (?:it|that)|let's (?:say|do|make it|call it)|let you have it (?:for|at)"
        r"|have it (?:for|at)|yours (?:for|at)|down (?:to|for)|down at|go (?:to|down to|as low as)"
        r"|give you|get(?: you)?|you(?:'d|'ll| would| will)? (?:pay|get)|only pay"
        r"|take|match(?: it| that)?"
        r"|agreed (?:to|on)|sell it (?:for|at)|charge(?: you)?|accept|offer(?: you)?)"
        r" (?:the |a |just |only |your |another |about )*#"
        r"|#(?: a \w+)? (?:it is|works|is fine|is ok|is okay|would work|will do"
        r"|is a deal|for you|happen)"
    ),
    accepts=re.compile(
        r"^(?:well |then |all )*(?:ok(?:ay)?|deal|done|fine|sure|yes|right|alright"
        r"|agreed|no problem|consider it done|sold|you got it"
        r"|then|you(?:'ve| have) got it|you win)\b"
    ),
    alone=re.compile(r"^(?:then |and |so |all right |ok |well )*#(?: then| instead)?$"),
    bare=re.compile(
        r"\n.*#(?: a (?:week|month|year))?(?:$| (?:it|works?|happen|is"
        r"|would|will|for (?:you|it)|then|instead"
        r"|now|today|all in|in (?:all|total)"
        r"|altogether|and|but|as|if|too|off)\b)"
    ),
    deal=re.compile(
        r"(?:(?:ok(?:ay)?|fine|sure|yes|alright|all right|well|then|for you)[ ,]*)*"
        r"(?:(?:it's |that's )?a? ?deal|done|agreed|(?:i|we) can do that|let's do (?:it|that)"
        r"|you(?:'ve| have) got (?:it|a deal))[ ,]*(?:then|for you)?[.!]*"
    ),
    asked=re.compile(
        r"\b(?:do it for|take|accept|make it|for|at|to|about|pay(?: you)?|give you"
        r"|limit is|offer|only|up to|than)"
        r" (?:it )?(?:for )?#|^#(?: and |,|\?|$)"
    ),
    price=re.compile(
        r"\b(?:price (?:is|would be|of)|priced at|costs?|cost you|pay|asking|worth)"
        r" (?:you |just |only |about )*#(?:$| (?:in all|all in|in total|altogether"
        r"|instead|now|today|then))"
    ),
    discount=re.compile(
        r"\b(?:off|discounts?|cheaper|reduc\w+|rebates?|less|below|sav(?:e|es|ing"
        r"|ings)|back|vouchers?"
        r"|coupons?|bonus|cash ?back|refund(?:s|ed)?|deduct\w*|knock|credit(?:ed)?"
        r"|go down by|promotion|trade in"
        r"|lower(?: the price)? by|come down by|take # from)\b"
    ),
    rate=re.compile(
        r"\b(?:rates?|interest|yields?|earns?|returns?|pays?|apr|commission|fees?|charges?|annually"
        r"|a year|per year|per annum|grow\w*|dividend|we go|up to|give you|match|get|gains?)\b"
    ),
    if_=re.compile(
        r"^(?:and |but |even |so )?(?:if|suppose|imagine|in case|should)\b"
        r"|\bcould (?:fall|drop|lose)"
    ),
    hedge=re.compile(
        r"\b(?:about|around|roughly|nearly|almost|just (?:over|under|above|below)"
        r"|less than|more than"
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
            r"\bwarrant\w+|\bguaranteed? (?!you|that|it)|\bguarantee$"
            r"|\bguarantees?\b(?= (?:runs|lasts|is|of|for))"
            r"|\bguarantee of|\bbreaks?\b|\brepairs?\b|\breplace\w*|\bcover all"
            r"|\bfaults?\b|\bdefect\w*"
            r"|\bstops? working|\bgoes wrong|\bfails?\b|\bcoverage|\bof (?:cover"
            r"|protection)\b|\bfix (?:it|them)"
        ),
        "returns": re.compile(
            r"\breturn (?:it|them|the|this|period|policy|window)|\b(?:to|can"
            r"|for) returns?\b|\brefund\w*"
            r"|\bmoney back|\b(?:penny|cent) back|\bsend it back|\btrial|\b(?:try"
            r"|test) it|\b(?:take"
            r"|bring) it back|\bsatisfaction|\bcancel\w*|\bchange your mind|\bcooling"
        ),
        "delivery": re.compile(
            r"\bdeliver\w*|\barriv\w+|\bships?\b|\bshipp\w+|\bdispatch\w*"
            r"|\breach(?:es)? you\b|\bparcel"
            r"|\b(?:on|to|at) your (?:door\w*|place|home)|\bwith you in|\b(?:in"
            r"|to) your hands?|\bdropped off"
            r"|\bget(?:s|ting)? (?:it|them) to you|\breceive it"
        ),
        "instalments": re.compile(
            r"\binstal\w+|\bpay(?:ing)? it off|\bspread|\bsplit|\binterest.free"
            r"|\bpayment plan|\bmonthly payments"
        ),
        "waiting": re.compile(r"\bwaiting period|\bwait(?:ing)? (?:time|is)"),
        "claims": re.compile(r"\bclaims?\b|\bpayouts?\b|\bpaid out"),
        "contract": re.compile(r"\bcontract|\bminimum term|\bnotice|\block.?in|\btied in"),
    },
    parts=re.compile(
        r"# (?:equal |monthly |easy |interest free )*(?:instal\w+|payments)\b"
        r"|\bsplit(?:ting)? it (?:in|into|over) #"
    ),
    instead=re.compile(
        r"\b(?:get back|call(?:ing)?|ring|reply|answer|let you know|text|e ?mail|meet|visit|confirm"
        r"|worked|been|ago|last|past|old|my|years? here|experience|remind\w*)\b"
    ),
    gift=re.compile(
        r"\bget (?P<bogo>one|another|(?:a|the) second)(?: one)? (?:for )?free\b"
        rf"|\b{_GIFTABLE} (?:\w+ )?free (?!{_NO_GIFT})(?P<what>[a-z]+ ?[a-z]*)"
        r"|\b(?:throw|chuck) in (?P<in>.+)"
        rf"|\b(?:add|include|give you|give|get|receive|slip|pop|put|toss"
        rf"|send) (?P<top>.+?),? {_ON_TOP}|(?P<house>.+) {_ON_TOP}$"
        r"|\bcomplimentary (?P<comp>.+)|\bgift you (?P<gifted>.+)"
        r"|\bbonus:? (?:of )?(?P<plus>a .+)|\b(?P<yours>.+?) (?:is"
        r"|are) yours for (?:nothing|free)"
        r"|\b(?:get|receive|add|send you|give you"
        r"|have) (?P<as>.+?) as an? (?:free )?(?:gift|present|bonus|thank)"
    ),
    not_gift=re.compile(
        r"\b(?:ship|deliver|delivery|shipping|post|cancel\w*|return\w*|open\w*"
        r"|clos\w+|account|withdraw\w*"
        r"|transfers?|call|phone|ask|try|repair\w*|replace\w*|fix\w*|done|paid"
        r"|trial|classes|covered)\b"
    ),
    given=re.compile(
        r"\b(?:free|gift|throw|from|with|your|every|order|today|extra|cost|charge"
        r"|house|complimentary"
        r"|there|yours|nothing|this|that|even|will|also|some|another|second|brand|give|include|then"
        r"|receive|them|have|would|could|when|more|added|customers?|present|bonus"
        r"|well|just|only|spare|(?:month|week|day|year)s?|three|four|five|seven"
        r"|eight|nine|sign)\b"
    ),
    bundled=re.compile(
        r"\b(?:free|gifts?|includ\w+|comes? with|extras?|supplied|contents|box|set"
        r"|pack|tucked|with)\b"
    ),
    perks=(
        Perk(
            "term",
            re.compile(
                r"\b(?:free|complimentary) (?:\w+ )?(?:shipping|delivery|postage)"
                r"|\b(?:shipping|delivery|postage)(?: is|'s| will be"
                r"| comes)(?: \w+)? (?:free|on us|on the house)"
                rf"|\b(?:ship|deliver|send) (?:it |them |this )?(?:\w+ )?{_ON_TOP}"
                r"|\bwaive (?:the |your )?(?:delivery|shipping)"
                r"|\bno charge for (?:delivery|shipping)|\b(?:delivery|shipping|courier)\b.{0,20}"
                r"\b(?:won't cost|costs? (?:you )?nothing|on the house)"
                r"|\b(?:delivery|shipping|postage)\b.{0,20}\b(?:covered|taken care of"
                r"|on (?:us|me))\b"
                r"|\b(?:won't|don't|not"
                r"|nothing) (?:have to )?(?:pay )?(?:\w+ )*for (?:delivery|shipping"
                r"|postage)"
            ),
            re.compile(
                r"^(?!returns?|warranty).*free (?:\w+ )?(?:shipping|delivery)|(?:shipping"
                r"|delivery|dispatch\w*)[^.;]*\bfree"
            ),
        ),
        Perk(
            "term",
            re.compile(
                r"\blifetime (?:warranty|guarantee)|\b(?:warranty"
                r"|guarantee)\b.*\b(?:for life|lifetime|never (?:expires|ends|runs out)"
                r"|forever|unlimited)"
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
                r"\bwaive (?:\w+ )*?(?:fees?|commission|charges?|excess|deductible)"
                r"|\b(?:fees?|commission|charges)\b.{0,12}\b(?:cancel\w*|dropped|removed"
                r"|waived)|\b(?:skip|drop|cancel) the (?:\w+ )?fees?\b"
            ),
            re.compile(
                r"\bno (?:\w+ )?(?:fees?|commission)"
                r"|(?:fee|commission|excess|deductible)[^\n]*\b(?:none|waived|free)"
            ),
        ),
        Perk("discount", re.compile(r"\bhalf (?:the )?(?:price|off)"), re.compile(r"half|50%")),
        Perk(
            "promise",
            re.compile(
                r"\b(?:return|profit|gain|income)s? (?:is|are) (?:fully )?guaranteed"
                r"|\bguaranteed (?:return|profit|gain)"
                r"|\b(?:guarantee|promise)\b(?: you)?(?: that)? you(?:'ll| will| won't"
                r"| can't)(?: never)? (?:make|lose|earn|gain)"
                r"|\b(?:no|zero) risk of losing|\bcover (?:any|your) loss"
                r"|\bcan't make a loss|\bguaranteed to (?:come|make|earn|win|grow|rise)"
                r"|\b(?:can't|won't|cannot|never) lose (?:a cent|a penny|any|money)"
                r"|\bmake good (?:any|your) loss"
            ),
            re.compile(r"principal|deposit insurance|(?<!not )(?<!n't )guaranteed"),
            financial=True,
        ),
    ),
)
