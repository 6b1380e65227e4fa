"""How a talk is closed in English."""

from __future__ import annotations

import re

from salesllm.simulate.phrases import Clause, Phrases, any_of

_I = r"(?:i|we)"
_AM = r"(?:i|we)(?:'m| am|'re| are)"
_IT = r"(?: (?:it|one|this|that|these|those|them|any(?: of (?:it|this|that|them))?|anything))?"
_IN_IT = rf"(?: in{_IT})?"
_ANY_MORE = r"(?:any ?more|any longer)"
_FOR_YOUR = r"for (?:(?:your|the|all|taking) )*"
_TALK = r"time|help|patience|info(?:rmation)?|explanations?|call|explaining|calling|listening"
_BESIDES = (
    r"warranty|wrap\w*|accessor\w+|deliver\w*|insurance|install\w*|extras?|gift|receipt|"
    r"upgrade|case"
)
_DAY = r"(?:day|one|evening|night|afternoon|morning|weekend|week|time)"
_NICE = r"(?:(?:very|really) )?(?:good|nice|great|lovely|wonderful|fantastic|pleasant|safe|fine)"
_BYE = (
    r"(?:(?:good[ -]?)?bye+(?:[ -]?bye+)?(?: for now)?|farewell|so long|good ?night|cya|"
    r"(?:i'll )?see (?:you|ya|u)"
    r"(?: (?:later|around|soon|then|there|next time|tomorrow|tonight))?|"
    r"(?:i'll )?(?:talk|speak) to you (?:later|soon)|(?:talk|catch you) later|until next time|"
    r"take care(?: of yourself)?|"
    rf"(?:i hope you |hope you )?have an? {_NICE} {_DAY}(?: too| ahead| as well)?|"
    rf"enjoy (?:your|the rest of (?:your|the)) {_DAY}|"
    r"(?:i'm|i am) hanging up|i'?m done (?:here|talking)|we're done(?: here)?|"
    r"(?:i(?:'ve)? )?(?:got to|gotta|have to|need to|must) (?:go|run|hang up)|"
    r"(?:this|the) (?:conversation|call|chat) is over)"
)

ENGLISH = Phrases(
    thanks=re.compile(
        r"\b(?:but )?(?:many )?(?:thanks|thank you|thx|cheers)\b"
        r"(?: (?:so|very) much\b| a lot\b| again\b| anyways?\b| though\b| all the same\b)*"
        rf"(?: {_FOR_YOUR}(?:{_TALK}|chat|answers?|advice|trouble|everything|helping|"
        r"understanding|that|it)\b)?(?: and\b(?=.))?"
    ),
    lead=re.compile(
        r"(?:(?:ok|okay|alright|all right|right|well|so|then|anyways?|no|nope|nah|yes|yeah|yep|"
        r"sure|fine|great|good(?! ?night)|perfect|cool|awesome|sorry|oh|ah|look|listen|please|"
        r"just|really|honestly|hey|in that case|i guess|i'm afraid|i said)\b ?)+"
    ),
    tails=(
        " then",
        " now",
        " for now",
        " again",
        " please",
        " sir",
        " ma'am",
        " man",
        " to you",
        " too",
    ),
    clauses=(
        (
            Clause.FAREWELL,
            any_of(rf"{_BYE}(?: (?:and )?(?:{_BYE}|good luck|all the best))*"),
        ),
        (
            Clause.FINAL,
            any_of(
                rf"{_I} (?:really |just )?(?:do not|don'?t) (?:need|want){_IT} {_ANY_MORE}",
                rf"{_I} no longer (?:need|want){_IT}|(?:{_AM} )?no longer interested{_IN_IT}",
                rf"(?:{_AM} )?not interested{_IN_IT} {_ANY_MORE}",
                rf"{_I}(?:'ve| have)? decided (?:not to (?:buy|get|order|take)|against){_IT}",
                rf"{_I}(?:'ve| have)? (?:already |just )?(?:bought|ordered) "
                r"(?:it|one|something) (?:elsewhere|somewhere else)",
                r"(?:don'?t|do not|never) (?:ever )?(?:call|contact|text|message|e-?mail|bother)"
                rf" (?:me|us) (?:again|ever again|{_ANY_MORE})",
                r"(?:don'?t|do not) (?:contact|bother) (?:me|us)",
                r"(?:stop|quit) (?:calling|contacting|texting|messaging|e-?mailing|bothering) "
                rf"(?:me|us)(?: {_ANY_MORE})?",
                r"leave me alone|lose my number|take me off your list|go away|get lost|fuck off",
            ),
        ),
        (
            Clause.REFUSAL,
            any_of(
                r"(?:ok |well |sorry |oh )*no (?:thanks|thank you|thx)",
                rf"(?:{_AM} )?(?:really )?not (?:really |at all )?interested"
                rf"(?:{_IN_IT}| at all)",
                rf"{_I} (?:really )?(?:do not|don'?t) (?:really )?(?:need|want){_IT}",
                rf"{_I} (?:won'?t|will not) (?:be )?(?:buy|take|order)(?:ing)?{_IT}",
                r"(?:it|this|that)(?:'s| is) (?:just |really )?not for (?:me|us)",
                rf"{_I}(?:'ll| will) (?:have to )?pass|(?:it|that)'s a no(?: from me)?|forget it",
            ),
        ),
        (
            Clause.COURTESY,
            any_of(
                r"i see|got it|understood|noted|fair enough|good to know|wow|excellent|wonderful",
                r"no (?:problem|worries)|sounds (?:good|great|fine)|lovely|that makes sense|"
                r"never ?mind",
                r"you(?:'ve| have) been (?:very |really |so )?(?:helpful|kind|patient)",
                r"you too|same to you|likewise|all the best|best wishes|good luck(?: with \w+)*",
                r"i (?:really )?appreciate (?:it|that|(?:the|your|all your) (?:\w+ )?\w+)",
                r"(?:it was |been )?(?:nice|good|great|a pleasure) "
                r"(?:talking|chatting|speaking|dealing|doing business)(?: (?:to|with) you)?",
                r"(?:i have |i've )?no (?:more|further|other) questions",
                r"that'?s (?:all|it|everything)(?: for now| from me| i (?:need|needed|wanted))?",
                r"if (?:i|we|anything) (?:ever )?(?:need|change|decide)s?\b.{0,30}",
                r"(?:maybe )?(?:i|we)(?:'ll|'d like to| will| need to| want to| have to)? "
                r"(?:think (?:about it|it over)|sleep on it|let you know|get back to you|"
                r"be in touch|reach out|call (?:you )?back|keep (?:it|that|you) in mind|"
                r"leave it(?: there| at that)?|wait(?: a (?:bit|while))?|look around(?: a bit)?|"
                r"hold off|come back)"
                r"(?: (?:first|a bit|some more|later|when i decide|if i (?:need|change).{0,20}))?",
                r"(?:maybe )?(?:another|some other) (?:time|day)|(?:maybe )?later",
                r"not (?:today|right now)",
            ),
        ),
    ),
    parting=any_of(
        rf"(?:thanks|thank you)\b.* {_FOR_YOUR}(?:{_TALK})\b",
        r"(?:thanks|thank you) anyways?",
    ),
    later=any_of(
        r"\b(?:think (?:about|it over|on it)|sleep on|let you know|get back to|be in touch|"
        r"reach out|call you|call back|ring you|keep (?:it|that|you) in mind|hold off|"
        r"look around|come back|another (?:time|day)|"
        r"if (?:i|we) (?:ever )?(?:need|change|decide))\b"
    ),
    open=any_of(
        r"^(?:(?:so|and|but|or|ok|okay|well|then) )*(?:what|how|when|where|which|who|why|can|"
        r"could|would|will|do|does|did|is|are|was|may|should) (?!not\b)",
        r"\b(?:if|unless|as long as|until|otherwise|or else|provided|in case|depend(?:s|ing)?|"
        r"wait|hold on|one more|by the way|wonder(?:ing)?|tell me|explain)\b",
    ),
    settles=any_of(
        r"\b(?:i'?ll (?:take|have|get|buy|order|go|stick)|i (?:want|need|agree)|deal|let's|"
        rf"i'd (?:like|rather)|just the|only the|instead|go ahead|order|{_BESIDES})\b",
    ),
    reports=any_of(
        r"\b(?:sa(?:id|ys?|ying)|told \w+|tells \w+|goes|like|called|means?|wr(?:ite|ote))$"
    ),
    more=any_of(
        r"\b(?:else|also|add|extra|another|other|as well|too|besides|protection|bundle|"
        r"subscri\w+|questions?|help|know|hear|reminder|e-?mail|call|brochure|newsletter|"
        rf"{_BESIDES})\b",
    ),
    leave=any_of(
        r"\b(?:(?:good[ -]?)?bye(?!-| to\b)|take care(?! of\b(?! yourself))|all the best|"
        r"farewell|see you (?:then|soon|later|there|tomorrow|around)|good night|"
        r"(?:have|enjoy|wish(?:ing)? you) (?:an? |the rest of |your )*(?:\w+ ){0,2}"
        r"(?:day|evening|afternoon|weekend|week|night|one))\b",
    ),
)
