"""Intentions in a text: a cue and a condition in one sentence (RFC 0068 C), and whether it is in doubt.

"Maybe I'll call", "we might send", "should we invoice?", "Anna thinks she can fix it", "if possible" are in doubt: a
person arms or dismisses such a commitment; it never fires by itself.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from memory.text import patterns
from memory.text.intentions import documents, duties, foreign, times
from memory.text.intentions.cues import (
    CALLED_OFF,
    CUE,
    DEED,
    MOST_CUES,
    PAST_FORM,
    REQUESTING,
    WHO,
    cues_in,
    may_cue,
    own_times,
)
from memory.text.intentions.occurrences import rewritten
from memory.text.intentions.predicates import (
    ASIDE_MARK,
    DENIAL,
    DOER_MARK,
    MOST_WORDS,
    OWNER_MARK,
    PAID,
    Sentence,
    foreign_words_of,
    sentences,
    words_of,
)
from memory.text.intentions.verbs import ACTIONS, BASES, DOES, LIKE_PAST, is_action, listed, stem, third_person
from memory.text.intentions.verbs import HAPPENING as VERBS_OF_EVENTS

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
SURELY = (
    r"\b(?:maybe|perhaps|possibly|probably|presumably|ideally|hopefully|tentatively|potentially|eventually"
    r"|vielleicht|eventuell|womöglich|möglicherweise|wahrscheinlich|quizás?|tal vez|a lo mejor|posiblemente"
    r"|probablemente|peut-être|probablement|być może|może|chyba|prawdopodobnie)\b,?"
)
SURE = patterns.late(SURELY, re.IGNORECASE)
# "if possible", "when you get a chance", "at some point"
BLANKS = r",?\s*"
CONVENIENT = (
    rf"{BLANKS}\b(?:(?:if|when|where|whenever|as soon as)\s+(?:at all\s+|it(?:'s| is)?\s+)?"
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
    r"(?:good|nice|great|best|better|wise|helpful|useful|sensible|smart|worthwhile|an option|possible)(?: idea"
    r"| thing)?"
)
BY = rf"^\W*(?P<who>(?-i:{WHO}))\s+"
# Each is replaced by its definite form, in this order.
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
            rf"{WE}(?:'m|'re|'ve been| am| are| was| were| have been)\s+(?:also )?(?:thinking (?:of|about)"
            rf"|considering)"
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
            rf"{BY}(?:thinks?|believes?|hopes?|guess(?:es)?|reckons?|expects?|assumes?)\s+(?:that\s+)?(?:he|she|they"
            rf"|it)\s+"
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
REWRITTEN = tuple((patterns.late(rule, re.IGNORECASE), words) for rule, words in RULES)
# Said of what would be taken at its word.
HEDGED = patterns.late(
    rf"^\W*{SURELY}|{CONVENIENT}|^\W*(?:i|we)\s+{THINK}\b"
    r"|\b(?:i|we|you|someone|somebody)(?:'ll| should| shall| will| must| need to| have to| ought to)\s+"
    r"(?:probably|maybe|perhaps|possibly)\b",
    re.IGNORECASE,
)
# What is imagined is not even in doubt.
IMAGINED = patterns.late(
    r"^\W*(?:suppose|imagine|what if|if (?:i|we|only)\b|had (?:i|we)\b)"
    r"|\bif (?:i|we|he|she|they|it|there) (?:could|would|was|were|had)\b",
    re.IGNORECASE,
)
# "If I had time I would call": not even with a condition.
UNREAL = patterns.late(
    r"^\W*if\b[^,]*\b(?:had|were|was|could|knew)\b.*\b(?:would|(?:i|you|he|she|we|they|it)'d)\b", re.IGNORECASE
)
# "I said I would leave on Friday but stayed": what was meant then did not happen.
ABANDONED = patterns.late(
    r"\b(?:said|promised|planned|meant|agreed|wanted|intended|offered|thought|hoped|(?:was|were) (?:going|about"
    r"|supposed))\b[^.;]*[,\s](?:but|yet|though|although|instead)\s+"
    r"(?:(?:then|later|in the end|instead|i|he|she|we|they|it)\s+){0,2}(?:\w+ly\s+)?"
    rf"(?:{PAST_FORM}|never|(?:did|could|was|were)(?:n't| not)|forgot|went|came|stayed|slept|lost|fell|kept|took)\b",
    re.IGNORECASE,
)
HINT = patterns.late(
    rf"\b(?:might|may|could|can|should|shall|would|{THINK[3:-1]}|considering|hopes?|plans?|intends?|wants?"
    rf"|how about|what about|why not)\b|{SURELY}|{CONVENIENT.removeprefix(BLANKS)}",
    re.IGNORECASE,
)
MOST_DOUBTS = 6


def may_be_in(text: str) -> bool:
    """Whether anything in ``text``, a sentence, may be in doubt."""
    return HINT.search(text) is not None


def is_hedged(sentence: str) -> bool:
    """Whether a sentence with the form of an order expresses a doubt."""
    return HEDGED.search(sentence) is not None


def without_doubt(sentence: str) -> str:
    """The sentence without its expressions of doubt; "" when it has none."""
    said = sentence
    for rule, words in REWRITTEN:
        said = rule.sub(words, said, count=MOST_DOUBTS)
    if said == sentence or IMAGINED.search(sentence) or IMAGINED.search(said):
        return ""
    return " ".join(said.replace("?", ".").split())


# What is farther away waits as dormant; what is later than that is no plan.
FARTHEST, LAST = timedelta(days=90), timedelta(days=3660)
MOST = 20
LEAST_WORDS = 2

MARKER = patterns.late(
    r"^\W*next time(?= )|(?<=, )should(?= (?:the|our|my|his|her|their|any(?:one|body)|some(?:one|body)"
    r"|(?-i:[A-Z])\w+)\b)"
    r"|(?<![-/.\w])(?:assuming(?: that)?|on (?:the )?condition that)(?= (?:the|my|our|your|his|her|their|no|he|she"
    r"|it|we"
    r"|they|you|i|(?-i:[A-Z])\w+)\b)"
    r"|\b(?:up)?on(?= (?:the )?(?:arrival|receipt|delivery|completion|payment|approval|confirmation|publication"
    r"|signature"
    r"|departure|return|acceptance|renewal) of\b)|^\W*should(?=\s+(?!(?:i|we|you|it be)\b)\w+\s)|\bthe (?:day|minute"
    r"|second|instant)"
    r"(?=\s+(?:the|our|my|his|her|their|he|she|they|we|it|that|(?!\w+day\b)(?-i:[A-Z])\w+)\b)"
    r"|(?<![-/.\w])(?:(?:as soon as|the (?:very )?moment|(?:if|as) and when|provided(?: that|(?= (?:the|my|our|your"
    r"|his|her|their|no|he|she|it|we"
    r"|they|you|i|all|both|(?-i:[A-Z])\w+)\b))|in the event (?:that|of)|whenever|when|upon"
    r"|the next time|in case(?! of)|(?:each|every) time|(?<!day )(?<!week )(?<!look )after(?! all\b(?! (?:of|the|our"
    r"|my|their|his|her|\d+|two|three|four|five|six"
    r"|[a-z]+(?: [a-z]+)? (?:have|has|are|is))\b))|if(?! only))"
    r"(?![-/\w])(?!\s+(?:block|statement|clause|loop|branch|condition|expression)s?\b)|once(?![-/\w])(?!\s+(?:a|an"
    r"|per|every|each|more|again|in|upon|we've)\b))",
    re.IGNORECASE,
)
# What is to be done unless something happens by then is in doubt: it is not known beforehand whether it will be.
EXCEPT = patterns.late(r"\b(?:unless|except (?:if|when))\b", re.IGNORECASE)
# "Even if it rains": what the condition is makes no difference.
# Nor is "everything after the slash" one, or "the event for when it opens".
CONCEDED = patterns.late(
    r"\b(?:even|as|than|not|for|about|of|on|since|from)(?: only)?\s*$|\b(?:every|any)thing\s*$", re.IGNORECASE
)
POLITE = patterns.late(
    r"if\s+(?:at all )?(?:possible|necessary|needed|required|you can|you could|that works|convenient"
    r"|(?:that|it)(?:'s| is) (?:fine|ok|okay|alright|all right)(?: (?:with|by|for) you)?)\b",
    re.IGNORECASE,
)
# "After the release on Friday": what has no verb is a time, if it names one.
AFTER = patterns.late(
    r"(?:after|upon|once)\s+(?:the|our|my|your|their)\s+(?!.*\b(?:is|are|was|has|have|\w+s|\w+ed)\b)", re.IGNORECASE
)
# "We could do great things if we join forces": two doubts at once are no plan.
IF_ONLY = patterns.late(r"\bif\b", re.IGNORECASE)
IF = patterns.late(r"\W*(?:if|should|provided)\b", re.IGNORECASE)
# "Nudge her next week if nothing happens": to be done then, unless something happens before.
NOTHING = patterns.late(r"\b(?:nothing|no (?:answer|reply|response|news|word)|nobody|no one|still)\b", re.IGNORECASE)
INDIRECT = patterns.late(
    r"\b(?:ask(?! for\b)|check|confirm|find out|see|know|decide|discuss|clarify|verify)(?:\s+\w+){0,3}\s+$",
    re.IGNORECASE,
)
LET_KNOW = patterns.late(r"\blet\s+(?:[\w']+\s+){1,4}know\s+$", re.IGNORECASE)
CLAUSE_END = patterns.late(
    r"\s*(?:,(?!\d)|\s[-\u2013\u2014]\s|\s\(|\bthen\b|\bso that\b|\bso\b|\bbecause\b(?! of\b)|\bin order\b|\bplease\b)",
    re.IGNORECASE,
)
GENERAL = patterns.late(
    r"^\s*(?:(?:a|an|any|some|no|every|each)\s|(?:anyone|someone|somebody|anybody|they|people|customers|users|it"
    r"|you(?! (?:see|meet|hear from|talk to|speak to|speak with|reach|arrive|land|get (?:to|home|back)"
    r"|are (?:home|back|done))\b)"
    r"|asked|needed|necessary|possible|required)\b)",
    re.IGNORECASE,
)
WEATHER = patterns.late(
    r"\s*it\s+(?:(?:starts|begins)\s+(?:to\s+)?)?(?:rain|snow|freez|pour|storm|hail|drizzl|thaw)(?:e?s|e|ing)?\b",
    re.IGNORECASE,
)
ALWAYS = patterns.late(r"(?:whenever|(?:each|every) time)\b", re.IGNORECASE)
BY_PERSON = patterns.late(r"\s*when\s+(?:you|i|we)\s+(?!\w+ed\b|were\b|had\b|met\b|saw\b)", re.IGNORECASE)
# "Hold the payout until the check is through, then release it."
UNTIL_THEN = patterns.late(
    r"^.{3,}?\buntil\b(?P<clause>[^,;]{5,}?)[,;]?\s+(?:and )?then\s+(?P<order>.+)$", re.IGNORECASE | re.DOTALL
)
# "After the concert, hand in the keys", "hand in the keys after the concert": once it is over.
AFTER_EVENT = patterns.late(
    r"(?P<before>^\W*|^[^,;]{3,}?,?\s)(?:(?:right|straight|directly|immediately|shortly|soon)\s+)?after\s+"
    r"(?P<event>(?!the (?:break|move)\b)(?:the|our|my|your|their|his|her|[A-Z][\w-]*'s?)\s(?:[\w-]+\s){0,3}?[\w-]+?)"
    r"(?=\W*$|,\s)(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
# "Keep the gate locked until the fair is over", "do not ship it until the deposit is in".
NOT_YET = patterns.late(
    r"^\W*(?:please )?(?:do not|don't|never)\s+(?!(?:forget|worry|panic|hesitate|be|give up)\b)", re.IGNORECASE
)
NONE_YET = patterns.late(r"^\W*no\s+(?:more |further )?", re.IGNORECASE)
HELD = patterns.late(
    r"^(?P<order>\W*(?:please )?(?:no (?:more |further )?(?!one\b|longer\b|need\b|way\b|doubt\b|idea\b)[a-z]+s\b"
    r"|(?:do not|don't|never)\s+[a-z]|(?:keep|hold|leave|block|freeze|pause|suspend|stop"
    r"|postpone|delay|withhold|reserve|park|mute|defer|put|store|guard|monitor|watch|maintain|wait|stay|let|use"
    r"|continue|stick|rely)\b)[^,;]{3,}?)"
    r"\s*,?\s+until\s+(?:after )?(?P<clause>(?:(?:the|my|our|your|his|her|their|all|both|i|we)\b"
    r"|(?-i:[A-Z])\w)[^,;]{4,}?)"
    r"\W*$",
    re.IGNORECASE,
)
# "Until the lift works, keep the side door open"
UNTIL_FIRST = patterns.late(r"^\W*until (?P<clause>[^,;]{5,}),\s+(?P<order>[^,;]{5,}?)\W*$", re.IGNORECASE)
# "Hold the button until the light blinks"
OF_A_MANUAL = patterns.late(
    r"\b(?:buttons?|keys?|switch|lever|pedal|pan|pot|heat|dough|sauce|mixture|batter|lid|breath|cursor|mouse|oven"
    r"|simmer"
    r"|stir|dish|meat|onions?|press)\b",
    re.IGNORECASE,
)
HAPPENING = patterns.late(
    rf"\b(?:is|are|has|have|{'|'.join(sorted(map(third_person, ACTIONS | VERBS_OF_EVENTS)))})\b|^(?:i|we)\b",
    re.IGNORECASE,
)
# "We hit 10,000 subscribers" is said of a channel too.
OWN = patterns.late(r"\W*(?:i|we(?!.*\d))\b", re.IGNORECASE)
# Who does it is not named, so that the first word is the verb.
NOBODY_NAMED = patterns.late(
    rf"\W*(?:i|we|any(?:one|body)|some(?:one|body))\s+(?:finally |have |has |\w*ly )*(?:{listed(ACTIONS | DOES.keys())}"
    r"|receives?|finds?|gets?|loses?|hears?|wins?|sees?|\w+ed)\s+(?:the|my|our|his|her|their|your|an?|all|both|that"
    r"|this)\b",
    re.IGNORECASE,
)
# What we are to receive may be said to have come.
RECEIVED = patterns.late(r"\W*we (?:finally |have |\w*ly )*(?:receive|received|get|got|obtain)\b", re.IGNORECASE)
NEXT_TIME = patterns.late(r"\W*(?:the )?next time (?:you|i|we) \w+ (?-i:[A-Z])", re.IGNORECASE)
PRONOUN = patterns.late(r"\s*((?P<person>he|she)|it|they)\b(?!')", re.IGNORECASE)
THING = (
    r"(?P<thing>(?:the|my|our|your|his|her|their|this|that|these|those)(?:\s+(?!(?:to|for|from|on|at|in|with|about|into"
    r"|by|until|as|and|or|again|back|over|when|once|if)\b)[\w'-]+){1,4})"
)
# The verb of an order, and what it is done to.
ORDERED = patterns.late(
    r"[\W_]*(?:(?:please|kindly|then|also)\s+)*(?P<verb>[a-z-]+)(?:\s+(?:up|down|out|off|back|over|away)\b)?"
    rf"(?:\s+{THING}|\s+(?P<bare>[a-z]\w+(?: [a-z]\w+){{0,2}}?)(?=\s*,|\s*$|\s+(?:to|for|from|on|at|in)\b))?",
    re.IGNORECASE,
)
# Whom it is done to, before what: "the dog" of "the dog his pill".
WHICH = patterns.late(
    r"(?:the|my|our|his|her|their) (?:[a-z]+ )?(?:dog|cat|horse|puppy|kitten|rabbit|baby|toddler|boy|girl|child"
    r"|son|daughter|wife"
    r"|husband|sister|brother|mother|father|mum|dad|grandma|grandpa|grandmother|grandfather|uncle|aunt|neighbou?r"
    r"|boss|patient"
    r"|guest|client|customer|tenant|nurse|doctor|intern|trainee|player|driver|pupil|student|teacher)\b",
    re.IGNORECASE,
)
ABOUT = patterns.late(rf"\b(?:about|of) {THING}", re.IGNORECASE)
TELLING = frozenset(
    """
    tell let remind ask inform notify alert ping email message text warn write nudge brief answer reply update page
    call phone ring contact
    """.split()
)
MEETING = frozenset("ask call phone ring contact".split())  # who is asked may well be who is waited for
HAPPENS = frozenset("reopened lost failed reversed revoked withdrawn overdue".split())
# Whom an order concerns: "thank Ana", "a cake for Ana", but not "send it to Rome".
CONCERNED = patterns.late(
    r"(?:^\s*|\b(?:for|with|of) )"
    r"((?!(?:I|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)(?:day)?\b)[A-Z][\w'-]+(?: [A-Z][\w'-]+)*)"
)
# "The court rejects the appeal"; who wins or loses is not left out.
DOES_TO = patterns.late(
    r"\s*(?P<doer>(?:the|our|my|his|her|their) (?:[\w-]+ )?[\w-]+) (?:has |have )?"
    r"(?P<verb>(?!(?:on|for|in|to|upon|about|of|at|with|from)\b)[a-z]+) (?:(?:on|for|in favour of|to|upon"
    r"|about) )?(?:the|an?|my|our|your|his|her|their|its|this|that)\s",
    re.IGNORECASE,
)
DONE_TO = frozenset(
    map(stem, ACTIONS | LIKE_PAST | frozenset(BASES.values()) | frozenset(("rule", "grant", "ratify", "back", "veto")))
) - frozenset(
    map(
        stem,
        "win lose beat be have get do go leave arrive fall return receive reach pass miss catch call visit"
        " find".split(),
    )
)
RECEIVES = patterns.late(
    r"\bgets?(?= (?:the|an?|my|our|your|his|her|their|its)\s(?!\w+ (?:back|ready|done|to|together)\b)"
    r"| (?:[a-z]+ )?(?:permission|approval|confirmation|feedback|funding|clearance|consent|results)\b)",
    re.IGNORECASE,
)
OWNED_BY = patterns.late(
    r"\s*(?:(?:someone|somebody|anyone|anybody)\s+(?:\w+\s+)?)?(?:his|her|their)\s+[a-z]", re.IGNORECASE
)
NAMES = patterns.late(
    r"(?<![\w'])(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?((?!(?:I|Mon|Tues|Wednes|Thurs|Fri|Satur"
    r"|Sun)(?:day)?\b)[A-Z][\w-]+(?: [A-Z][\w-]+)*)"
)
# What the thing was before, which is not said of it any more: "the missing file", "our own boat".
BEFORE = patterns.late(
    r"\b(?:the|my|our|your|his|her|their|this|that|some|any|all)\s+(?P<state>missing|lost|stolen|broken|faulty"
    r"|defective|damaged"
    r"|overdue|outstanding|pending|open|unpaid|unsigned|wanted|leaking|jammed|blocked|remaining|own|required|requested"
    r"|ordered|promised|planned|upcoming|scheduled|pending|long-awaited|annual|yearly|quarterly|monthly|weekly"
    r"|proposed)"
    r"\s+(?=[\w'-]+)(?!(?:is|are|has|have|of|in|on|at|to|for|from|by|with|goes|gets)\b)",
    re.IGNORECASE,
)
# All of them have to: "once every branch has reported", "when both drivers are back".
ALL = patterns.late(
    r"^\W*(?:the [\w-]+ (?:team|crew|staff|group|department|squad)\b|the (?:last|final|remaining)\b|(?:the|our|my"
    r"|his|her|their) [\w-]+s (?:have|are)\b|all|both|every"
    r"|each|everybody|everyone"
    r"|the (?:two|three|four|five|six|seven|eight|nine|ten|twelve|\d+))\b",
    re.IGNORECASE,
)
# The name says it: "the deposit for the Lind wedding".
BEHIND_A_NAME = patterns.late(
    r"\b(?:for|from|of|with|by|at) (?:the|our|my|his|her|their|your) [A-Z][a-z]\w+ (?P<said>(?:wedding|building"
    r"|meeting|[a-z]{3,}(?<!ed)(?<!ing)))\b"
)
# She has one at a time.
KIND_OF_LEAVE = patterns.late(
    r"\b(?:the|my|our|your|his|her|their|from) (?P<said>parental|maternity|paternity|sick|medical|family|annual|unpaid"
    r"|summer|winter|business|sabbatical) (?=(?:leave|holidays?|vacation|trip|break)\b)",
    re.IGNORECASE,
)
COUNTED = patterns.late(
    r"^\W*(?:all|both|the)(?: of)?(?: the| our| my| your| his| her| their)? (?P<number>two|three|four|five|six|seven"
    r"|eight|nine"
    r"|ten|eleven|twelve|twenty|\d+)(?= [a-z])",
    re.IGNORECASE,
)
# "Remind me when it is free to book it", but not "remind me to pay when it starts to rain".
REMIND = patterns.late(r"[\s,]*remind (?!\S+ to\b)", re.IGNORECASE)
REMINDED = patterns.late(rf"(?<!starts)(?<!begins) to (?={DEED}).*$", re.IGNORECASE | re.DOTALL)
MAY_BE_WHEN = patterns.late(
    r"\b(?:when|whenever|upon|unless|except|bi-?weekly|fortnightly|next time|once|twice|noon|midnight|weekdays?"
    r"|weekends?|until|should|the (?:day|minute|second)|christmas|new year|tmrw|tmr|tmw|provided|assuming|\d\s?[ap]m"
    r"|after|if"
    r"|time|moment|soon as|in|within|from now|hence|later|at|on|by|before|every|each|today|tonight"
    r"|tomorrow|next|daily|weekly|quarterly|yearly|annually|monthly|hourly|this|end of|eod|cob|\d{4}-\d\d-\d\d"
    r"|(?:mon|tues|wednes|thurs|fri|satur"
    r"|sun)days?|q[1-4]|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\b|@",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Intention:
    """From character ``starts`` to ``ends`` of the text: due ``at``, and again by ``cron``, each ``every``-th
    time; or, with ``words``, when a
    later statement says that ``clause`` holds (with ``negated``: that it does not; with ``own``: of its writer).
    ``doubtful``: whether it is meant is for a person to say."""

    starts: int
    ends: int
    at: datetime | None = None
    cron: str = ""
    every: int = 1
    words: tuple[str, ...] = ()
    negated: bool = False
    clause: str = ""
    doubtful: bool = False
    own: bool = False


def may_hold_one(sentence: str) -> bool:
    """Whether it is worth while to look closer: a cue or a doubt, and a word of condition, are in the sentence.

    Of a whole text this is never asked: some of the patterns take time by the square of the length.
    """
    in_english = MAY_BE_WHEN.search(sentence) is not None and (
        may_be_in(sentence) or may_cue(sentence) or duties.may_be_in(set(sentence.casefold().split()))
    )
    return in_english or foreign.may_hold_one(SURE.sub("", sentence))


def found_in(text: str, *, zone: str, written_at: datetime, doubtful: bool = False) -> list[Intention]:
    """The intentions of ``text``, at most 20, as meant at ``written_at`` in ``zone``; with ``doubtful`` also doubtful
    ones.

    None lies before that moment, and none more than ten years after it.
    """
    zoned = (_zoned(each, zone) for each in sentences(text))
    likely = ((each, at) for each, at in zoned if may_hold_one(each.text))
    found = (_meant(each, at, written_at) or _doubted(each, at, written_at) for each, at in likely)
    return list(islice((each for each in found if each and (doubtful or not each.doubtful)), MOST))


def _held(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    """What is kept as it is, or not done, until something happens: that is waited for."""
    found = HELD.match(UNTIL_FIRST.sub(r"\g<order> until \g<clause>", sentence.text))
    if found is None or OF_A_MANUAL.search(found["order"]) or not HAPPENING.search(found["clause"]):
        return None
    order = NONE_YET.sub("resume the ", NOT_YET.sub("", found["order"]))
    return _intention_in(sentence._replace(text=f"Once {found['clause']}, {order}"), zone, written_at)


def _zoned(sentence: Sentence, zone: str) -> tuple[Sentence, str]:
    """The sentence without the zone that it states, and the zone of its times."""
    text, stated = times.with_stated_zone(sentence.text, zone)
    return sentence._replace(text=text), stated


def _meant(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    """The intention of the sentence as written; in doubt when the sentence says so."""
    if sentence.asks and not (REQUESTING.search(sentence.text) or foreign.REQUEST.match(sentence.text)):
        return None
    if held := UNTIL_THEN.match(sentence.text):
        sentence = sentence._replace(text=f"When{held['clause']}, {held['order']}")
    after = AFTER_EVENT.match(sentence.text)
    if after and documents.is_event(after["event"]) and not times.spans(sentence.text):
        order = f"{after['before']} {after['rest']}".strip(" ,")
        sentence = sentence._replace(text=f"Once {after['event']} is over, {order}")
    found = (
        _intention_in(sentence, zone, written_at)
        or _held(sentence, zone, written_at)
        or _foreign(sentence, zone, written_at)
    )
    return replace(found, doubtful=True) if found and is_hedged(sentence.text) else found


def _doubted(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    """The intention of the sentence without its expressions of doubt."""
    said = _unconditional(sentence.text) if EXCEPT.search(sentence.text) else without_doubt(sentence.text)
    firm = Sentence(sentence.starts, sentence.ends, said)
    found = _intention_in(firm, zone, written_at) or _foreign(firm, zone, written_at)
    if found is None or (found.words and IF_ONLY.search(sentence.text)):
        return None
    return replace(found, doubtful=True)


def called_off(text: str) -> list[tuple[str, ...]]:
    """What ``text`` says need not be done any more: for each such sentence, at most 20, the stems that say what."""
    found = ((each, CALLED_OFF.search(each.text)) for each in sentences(text) if not each.asks)
    called = (words for each, off in found if off and (words := words_of(each.text[off.end() :])))
    return list(islice(called, MOST))


def _unconditional(text: str) -> str:
    """The order without what would spare it, of which it keeps the time: "unless Ana confirms by Friday, cancel it"."""
    found = EXCEPT.search(text)
    if found is None or text.rstrip().endswith("?"):
        return ""
    end = CLAUSE_END.search(text, found.end())
    stops = end.start() if end else len(text.rstrip(" .!"))
    clause, main = text[found.start() : stops], _without(text, (found.start(), stops)).strip(" ,.")
    timed = [] if times.spans(main) else [clause[first:last] for first, last in times.spans(clause)]
    return " ".join([main, *timed])


def _foreign(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    meant = foreign.meant_by(sentence.text)
    if meant is None:
        return None
    if meant.time:
        return _timed(sentence, times.when(meant.time, zone=zone, base=written_at), written_at)
    words = foreign_words_of(meant.clause, meant.language)
    if not LEAST_WORDS <= len(words) <= MOST_WORDS:
        return None
    if documents.foreign_standing(sentence.text, meant.clause) == documents.NOTHING:
        return None
    return Intention(sentence.starts, sentence.ends, words=words, clause=meant.clause)


def _intention_in(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    if UNREAL.match(sentence.text) or ABANDONED.search(sentence.text) or EXCEPT.search(sentence.text):
        return None
    clause = _clause_of(sentence.text)
    main = _without(sentence.text, clause)
    if documents.is_pleasantry(main):
        return None
    found = (
        _intention_of_cue(sentence, clause, own_times(main, cue), zone=zone, written_at=written_at)
        for cue in cues_in(main)
    )
    meant = next((each for each in found if each is not None), None)
    return meant or _duty(sentence, clause, main)


def _duty(sentence: Sentence, clause: tuple[int, int] | None, main: str) -> Intention | None:
    """What somebody does, or should do, when the clause comes true."""
    inner = sentence.text[slice(*clause)] if clause else ""
    if not inner or POLITE.match(inner) or _is_time(inner) or times.spans(main):
        return None
    order = duties.as_order(main)
    is_one = order != main or duties.is_in(main, inner, MARKER.sub("", inner, count=1))
    return _predicate(sentence, inner, order) if is_one else None


def _intention_of_cue(
    sentence: Sentence, clause: tuple[int, int] | None, own: str, *, zone: str, written_at: datetime
) -> Intention | None:
    """What a cue with its ``own`` times and the conditional clause of its sentence come to."""
    inner = sentence.text[slice(*clause)] if clause else ""
    waits = bool(inner) and not POLITE.match(inner) and not _is_time(inner)
    if waits and _goes_first(clause, own) and (found := _predicate(sentence, inner, _without(sentence.text, clause))):
        return found
    if waits and IF.match(inner) and DENIAL.search(inner) and times.spans(inner) and not times.spans(own):
        # "If she has not paid by Monday": whether she has is for a person to say then.
        timed = _timed(sentence, times.when(inner, zone=zone, base=written_at), written_at)
        return replace(timed, doubtful=True) if timed else None
    if waits and IF.match(inner) and not (times.spans(own) and NOTHING.search(inner)):
        return None
    if waits and BY_PERSON.match(inner) and times.spans(inner) and not times.spans(own):
        waits = False  # "when you pass the shop tomorrow"
    waits = waits and not (AFTER.match(inner) and times.spans(inner) and not times.spans(own))
    said = own if waits or times.spans(own) else inner
    if _is_note(sentence.text, said, written_at):
        return None
    return _timed(sentence, times.when(said, zone=zone, base=written_at), written_at)


def _is_note(text: str, said: str, written_at: datetime) -> bool:
    """Whether the date is one that something bears, not one by which to do it: "(Ana, 2013 Jan 16, update Jan 17)"."""
    dated = times.ABSOLUTE.search(said) is not None
    return documents.is_noted(text) or (dated and times.names_the_past(text, written_at))


def _is_time(inner: str) -> bool:
    """Whether a clause is nothing but a time: "after Monday", "after 3 days"."""
    return not words_of(MARKER.sub("", _blanked(inner, times.spans(inner)), count=1))


def _goes_first(clause: tuple[int, int] | None, own: str) -> bool:
    """Whether the clause decides: nothing else says when, or that is counted from when it holds."""
    return not times.spans(own) or (clause is not None and not own[: clause[0]].strip(" -*"))


def _timed(sentence: Sentence, timed: times.When | None, written_at: datetime) -> Intention | None:
    if timed is None or not written_at < timed.at <= written_at + LAST:
        return None
    return Intention(sentence.starts, sentence.ends, timed.at, timed.cron, timed.every)


def _predicate(sentence: Sentence, inner: str, main: str) -> Intention | None:
    inner = REMINDED.sub("", inner) if REMIND.match(main) else inner
    clause = " ".join(MARKER.sub("", inner, count=1).split())
    standing = documents.standing(sentence.text, clause, main, begun=inner)
    if standing == documents.NOTHING:
        return None
    if WEATHER.match(clause):  # on the day that it names
        return Intention(sentence.starts, sentence.ends, words=words_of(clause), clause=clause)
    owner = _owner(inner, main)
    inner = _with_antecedent(inner, main)
    said, timed = MARKER.sub("", inner, count=1), times.spans(inner)
    negated = not all(_happens(found[0]) for found in DENIAL.finditer(rewritten(said)))
    whoever = documents.WHOEVER.match(said)
    if (GENERAL.search(said) and not (whoever or ALWAYS.match(inner) or NEXT_TIME.match(inner))) or (negated and timed):
        return None
    plain = rewritten(RECEIVES.sub("receives", MARKER.sub("", _blanked(inner, timed), count=1)))
    aside = words_of(" ".join(found["state"] for found in BEFORE.finditer(plain)))
    for rule in (BEHIND_A_NAME, KIND_OF_LEAVE):
        aside = (*aside, *words_of(" ".join(found["said"] for found in rule.finditer(plain))))
    if counted := COUNTED.match(plain):  # how many all of them are
        aside = (*aside, *words_of(counted["number"]))
        plain = f"{plain[: counted.start('number')]} {plain[counted.end('number') :]}"
    plain = BEFORE.sub(lambda found: found[0].replace(found["state"], " "), plain) if aside else plain
    for rule in (BEHIND_A_NAME, KIND_OF_LEAVE):
        plain = rule.sub(lambda found: found[0].replace(found["said"], " "), plain)
    words = words_of(DENIAL.sub(lambda found: found[0] if _happens(found[0]) else " ", plain))
    if NOBODY_NAMED.match(clause) and len(words) > 1 and not any(word[0].isdigit() for word in words):
        words = (*words[1:], words[0])  # the thing before what is done to it
    aside = (*(each for each in aside if each not in words), *(("all",) if ALL.match(clause) else ()))
    if not LEAST_WORDS <= len(words) <= MOST_WORDS and words != (PAID,):
        return None
    return Intention(
        sentence.starts,
        sentence.ends,
        words=(
            *words,
            *(f"{OWNER_MARK}{each}" for each in words_of(owner)),
            *_doer(plain, words),
            *(f"{ASIDE_MARK}{each}" for each in aside),
        ),
        negated=negated,
        clause=clause,
        doubtful=standing == documents.DOUBTFUL,
        own=OWN.match(clause) is not None and not RECEIVED.match(clause),
    )


def _happens(denial: str) -> bool:
    """Whether a word that denies other things is itself what happens: "if the ticket is reopened"."""
    return denial.casefold() in HAPPENS


def _with_antecedent(inner: str, main: str) -> str:
    """The clause with what its pronoun stands for: "thank Ana when she arrives", "send the papers when they are
    complete". Who is told something need not be who, or what, is waited for."""
    marker = MARKER.search(inner)
    pronoun = PRONOUN.match(inner, marker.end() if marker else 0)
    order = ORDERED.match(main)
    if not pronoun or not order:
        return inner
    told = order["verb"].casefold() in TELLING
    meets = order["verb"].casefold() in MEETING
    if pronoun["person"]:
        named = {each[1].removesuffix("'s") for each in CONCERNED.finditer(main[order.end("verb") :])}
        thing = WHICH.match(order["thing"] or "")
        stands_for = next(iter(named)) if len(named) == 1 and (meets or not told) else ""
        stands_for = stands_for or (thing[0] if thing and not named else "")
    elif told:
        stands_for = next((each["thing"] for each in ABOUT.finditer(main)), "")
    else:
        stands_for = order["thing"] or (order["bare"] if is_action(order["verb"]) else "") or ""
    return f"{inner[: pronoun.start(1)]}{stands_for}{inner[pronoun.end(1) :]}" if stands_for else inner


def _owner(inner: str, main: str) -> str:
    """Whose it is that the clause begins with, when the order names one: "let Jonas know when his badge is printed"."""
    marker, order = MARKER.search(inner), ORDERED.match(main)
    if order is None or not OWNED_BY.match(inner, marker.end() if marker else 0):
        return ""
    named = {each.removesuffix("'s") for each in NAMES.findall(main[order.end("verb") :])}
    return next(iter(named)) if len(named) == 1 else ""


def _doer(clause: str, words: tuple[str, ...]) -> list[str]:
    """Who does something to a thing, with the mark for it: a passive need not say that it is the court."""
    found = DOES_TO.match(clause)
    if found is None or stem(found["verb"].casefold()) not in DONE_TO:
        return []
    return [f"{DOER_MARK}{each}" for each in words_of(found["doer"]) if each in words]


def _clause_of(text: str) -> tuple[int, int] | None:
    """The conditional clause of a sentence, with its first word."""
    for found in MARKER.finditer(text):
        before = text[: found.start()]
        if CONCEDED.search(before) or (INDIRECT.search(before) and not LET_KNOW.search(before)):
            continue
        end = CLAUSE_END.search(text, found.end())
        stops = end.start() if end else len(text.rstrip(" .!)"))
        return found.start(), _before_order(text, found.end(), stops) if not before.strip(" -*") else stops
    return None


def _before_order(text: str, begins: int, stops: int) -> int:
    """Without a comma ("when the invoice clears tell finance") the clause ends where the order begins."""
    if text[stops : stops + 1] == ",":
        return stops
    for found in islice(CUE.finditer(text, begins, stops), MOST_CUES):
        if len(words_of(text[begins : found.start()])) >= LEAST_WORDS:
            return found.start()
    return stops


def _without(text: str, clause: tuple[int, int] | None) -> str:
    """The main clause; a comma replaces the other."""
    if clause is None:
        return text
    first, last = clause
    return f"{text[:first]}, {text[last:]}"


def _blanked(text: str, taken: list[tuple[int, int]]) -> str:
    for first, last in taken:
        text = text[:first] + " " * (last - first) + text[last:]
    return text
