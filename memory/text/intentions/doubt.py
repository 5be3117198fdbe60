"""What makes an order or a resolution doubtful, and what it would say without its doubt. Pure.

"Maybe I'll call", "we might send", "should we invoice?", "Anna thinks she can fix it", "if possible": somebody weighs
it, or says what another means to do. A person arms or dismisses it; it never fires by itself.
"""

import re

from memory.text.intentions.cues import DEED, WHO
from memory.text.intentions.statements import LONGEST_TEXT

SURELY = (
    r"\b(?:maybe|perhaps|possibly|probably|presumably|ideally|hopefully|tentatively|potentially|eventually"
    r"|vielleicht|eventuell|womöglich|möglicherweise|wahrscheinlich|quizás?|tal vez|a lo mejor|posiblemente"
    r"|probablemente|peut-être|probablement|być może|może|chyba|prawdopodobnie)\b,?"
)
SURE = re.compile(SURELY, re.IGNORECASE)
# "if possible", "when you get a chance", "at some point"
CONVENIENT = (
    r",?\s*\b(?:(?:if|when|where|whenever|as soon as)\s+(?:at all\s+|it(?:'s| is)?\s+)?"
    r"(?:possible|feasible|convenient|necessary|needed|required|appropriate|time permits|there(?:'s| is) time"
    r"|that (?:works|suits|helps)|(?:you|we|i) (?:can|could|may|want|like|wish|feel like it)"
    r"|(?:you|we|i) (?:get|have|find) (?:a |the )?(?:time|moment|chance)))\b(?:\s+(?:to|it|for you)\b)?,?"
    r"|\b(?:at some (?:point|stage|time)|some ?time|in theory|all being well|time permitting)\b,?"
)
# Where a clause of its own begins: "the impact I could make" is none.
BEGINS = r"(?:^\W*|[,;:]\s+|\b(?:and|but|so|then|or|please|today|tomorrow|tonight|week|month|\w{3,6}day)\s+)"
WE = rf"(?P<we>{BEGINS}(?:i|we))"
# What denies a plan, or tells of one that was not carried out, is no plan.
PLANNED = r"\b(?!n't|\s+(?:not|have|never|be|no longer)\b)"
ADVERBS = r"(?:\s+(?:probably|possibly|perhaps|maybe|also|still|just|at least|well|as well|even|then)\b)*"
THINK = (
    r"(?:guess|think|thinking|thought|suppose|believe|reckon|assume|feel|hope|hoping|wonder|wondering|suggest|propose)"
)
GOOD = (
    r"(?:good|nice|great|best|better|wise|helpful|useful|sensible|smart|worthwhile|an option|possible)(?: idea| thing)?"
)
BY = rf"^\W*(?P<who>(?-i:{WHO}))\s+"
# Each is said as by somebody who means it, in this order.
RULES = (
    (CONVENIENT, " "),
    # "I think we should", "I'm not sure whether we should"
    (
        (
            rf"^\W*(?:i|we)(?:'m|'re|'d| am| are| would| was| were)?\s+(?:also )?(?:{THINK}|not sure|unsure)"
            r"(?:\s+(?:that|if|whether))?,?\s+(?!of\b|about\b)"
        ),
        "",
    ),
    # "we were thinking of shipping"
    (
        (
            rf"{WE}(?:'m|'re|'ve been| am| are| was| were| have been)\s+(?:also )?(?:thinking (?:of|about)|considering)"
            r"\s+(?=\w+ing\b)"
        ),
        r"\g<we> will ",
    ),
    # "it would be good to test", "would it make sense to page"
    (
        (
            rf"\b(?:it|that)(?:'d| would| might| may| could)\s+(?:probably )?(?:be )?(?:an? )?{GOOD},?"
            r"\s+(?:to|if (?:we|i|you|someone))\s+"
        ),
        "we should ",
    ),
    (
        rf"^\W*(?:would|could|might)\s+it\s+(?:be (?:an? )?{GOOD}|make sense|help)\s+(?:to|if (?:we|i|you))\s+",
        "we should ",
    ),
    # "should we invoice them?", "do you want me to follow up?", "what about calling her?"
    (
        (
            r"^\W*(?:so,? |and |or )?(?:should|shall|could|can|might|may|must)\s+(?P<we>i|we|someone|somebody)\s+"
            r"(?:probably |maybe |perhaps |also |not )?"
        ),
        r"\g<we> should ",
    ),
    (r"^\W*(?:do|would|did) you (?:want|like|need) (?:me|us) to\s+", "we should "),
    (r"^\W*(?:how|what) about\s+(?=\w+ing\b)|^\W*why (?:don't|not)\s+(?:we\s+)?", "we should "),
    # "we might send", "I'd like to call", "you may want to check"
    (
        (
            rf"{WE}(?:\s+(?:might|may|could|can|would)|'d){PLANNED}{ADVERBS}"
            r"(?:\s+(?:want|like|love|prefer|need|have|be able|try|consider) to\b)?"
        ),
        r"\g<we> will",
    ),
    (
        rf"(?P<at>{BEGINS})you (?:might|may|could){PLANNED}{ADVERBS}(?:\s+(?:want|like|wish|need|have) to\b)?",
        r"\g<at>please",
    ),
    # "Anna thinks she can fix it", "Leo might send it", "the vendor hopes to deliver"
    (
        (
            rf"{BY}(?:thinks?|believes?|hopes?|guess(?:es)?|reckons?|expects?|assumes?)\s+(?:that\s+)?(?:he|she|they|it)\s+"
            rf"(?:can|could|will|would|may|might|should)\s+(?={DEED}\b)"
        ),
        r"\g<who> will ",
    ),
    (
        (
            rf"{BY}(?:(?:might|may|could|should|can){PLANNED}{ADVERBS}|(?:hopes?|plans?|intends?|wants?|would like"
            rf"|means?|expects?|is (?:hoping|planning|trying|likely|expected)) to)\s+(?={DEED}\b)"
        ),
        r"\g<who> will ",
    ),
    (SURELY, " "),
)
REWRITTEN = tuple((re.compile(rule, re.IGNORECASE), words) for rule, words in RULES)
# Said of what would be taken at its word.
HEDGED = re.compile(
    rf"^\W*{SURELY}|{CONVENIENT}|^\W*(?:i|we)\s+{THINK}\b"
    r"|\b(?:i|we|you|someone|somebody)(?:'ll| should| shall| will| must| need to| have to| ought to)\s+"
    r"(?:probably|maybe|perhaps|possibly)\b",
    re.IGNORECASE,
)
# What is imagined is not even in doubt.
IMAGINED = re.compile(
    r"^\W*(?:suppose|imagine|what if|if (?:i|we|only)\b|had (?:i|we)\b)"
    r"|\bif (?:i|we|he|she|they|it|there) (?:could|would|was|were|had)\b",
    re.IGNORECASE,
)
HINT = re.compile(
    rf"\b(?:might|may|could|can|should|shall|would|{THINK[3:-1]}|considering|hopes?|plans?|intends?|wants?"
    rf"|how about|what about|why not)\b|{SURELY}|{CONVENIENT}",
    re.IGNORECASE,
)
MOST = 6


def may_be_in(text: str) -> bool:
    """Whether anything in ``text`` may be in doubt."""
    return HINT.search(text, 0, LONGEST_TEXT) is not None


def is_hedged(sentence: str) -> bool:
    """Whether an order that is one as it stands is said with a doubt."""
    return HEDGED.search(sentence) is not None


def without_doubt(sentence: str) -> str:
    """The sentence as somebody would say it who means it; "" when nothing in it is in doubt."""
    said = sentence
    for rule, words in REWRITTEN:
        said = rule.sub(words, said, count=MOST)
    if said == sentence or IMAGINED.search(sentence) or IMAGINED.search(said):
        return ""
    return " ".join(said.replace("?", ".").split())
