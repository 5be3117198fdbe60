"""What somebody does once something has happened: "legal drafts the lease once the owner agrees".

By itself such a present tense says how things are, and with a habit, a rule for everyone or a state it still does
("Ben feeds the cat when Ana is away", "the bank charges a fee if the account is empty").
"""

import re

from memory.text import patterns
from memory.text.intentions import verbs
from memory.text.intentions.cues import (
    DEED_NOW,
    GROUPS,
    KNOWN_DEED,
    MACHINES,
    NAMED_ONE,
    NEGATION,
    OBJECT_BEGINS,
    REPORTED,
    ROLES,
    SOMEONE,
)

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
BEGINS = r"(?:^\W*|[,;:]\s+)(?:(?:then|so)\s+)?"
OBJECT = (
    rf"(?={OBJECT_BEGINS}|\s+(?:up|out|down|off|in|back|over)?\s*(?:for|with|at|into|after|to|on|from"
    r"|about)\s+(?:the|my"
    r"|our|your|his|her|their|all|(?-i:[A-Z])\w+)\b|\s+(?:\d+|two|three|four|five|six|ten|another|everyone"
    r"|everybody)\b)"
)
ALSO = r"(?:(?:then|also|immediately|at once|again)\s+)?"
TEAMS = (
    rf"(?:{GROUPS}|customer (?:service|care|support)|tech support|human resources|quality assurance|public relations"
    r"|the (?:night|day|early|late|morning|evening) shift|shift (?:\d+|[a-d])|(?:the|our|my"
    r"|their) (?:[\w'-]+ )?(?:clinic"
    r"|practice|studio|club|association|union|foundation|charity|kitchen|plant|factory|registry|embassy|consulate"
    r"|ministry|town hall|faculty|jury|choir|band|orchestra|nursery|kindergarten|parish|restaurant|shop|store|bakery"
    r"|publisher's|guard|chef|clerk|cook|nanny|notary|warden|newsroom|choir|squad|law firm|estate|family|couple"
    r"|day care|daycare|branch|unit|squad|service|hotline|help ?desk))"
)
SEVERAL = (
    r"(?:(?:(?:the|our|my|their|his|her|both|all) (?:[\w'-]+ ){0,2}?"
    rf"(?!(?:{MACHINES})s\b)(?:[a-z]{{3,}}(?:ers|ors|ists|ians|ants|men|women|ees|smiths)|teams|crews|colleagues"
    r"|parents"
    r"|guys|people|staff|partners|neighbou?rs|kids|children|friends|wardens|guards|chefs|clerks|cooks|interns|nurses"
    r"|coaches|guides|agents|students"
    r"|tenants))"
    r"|(?-i:[A-Z][\w'-]+ and [A-Z][\w'-]+))"
)
THE_ONE = rf"(?i:(?:the|our|my|their|his|her) (?:[a-z-]+ )?(?!(?:{MACHINES})\b)[a-z]{{3,}}(?<!s))"
DOES = patterns.late(
    rf"{BEGINS}(?:(?P<team>{SOMEONE}|(?i:{TEAMS}))|(?P<name>{NAMED_ONE}|{THE_ONE}))\s+"
    rf"{ALSO}(?P<deed>{DEED_NOW}|gets|receives)(?i:{OBJECT})"
)
DO = patterns.late(rf"{BEGINS}(?:{SEVERAL}|you)\s+{ALSO}(?P<deed>{KNOWN_DEED}){OBJECT}", re.IGNORECASE)
# "The insurer must be told": an order, with the one it is done to at its beginning.
TOLD = (
    "told|informed|notified|called|warned|asked|thanked|invited|paid|contacted|consulted|alerted|refunded|reminded"
    "|briefed"
)
TO_BE_TOLD = patterns.late(
    rf"{BEGINS}(?P<whom>(?:the|our|my|your|their|his|her|all|both) (?:[\w'-]+ ){{0,2}}?[\w'-]+|(?-i:[A-Z])[\w'-]+)"
    rf"\s+(?:must|should|has to|have to|needs to|need to|is to|are to)\s+(?:then |also )?be (?P<done>{TOLD})\b",
    re.IGNORECASE,
)
OUGHT = patterns.late(
    rf"{BEGINS}(?:{NAMED_ONE}|{SOMEONE}|(?i:{TEAMS}|{SEVERAL}))\s+(?i:(?:should|ought to|is expected to"
    rf"|is responsible for|can then|may then)\s+{ALSO}(?:{KNOWN_DEED}|{verbs.ANY_VERB}){OBJECT})"
)
# What things and programs do as well, and readers of a manual.
OF_THINGS = frozenset(
    """
    absorb activate add align analyse analyze append apply archive assemble balance bind bleed block boil build bump
    bundle burn calculate capture carry cast change charge check circulate clear click clip close collect combine
    compare compile complete compose compress compute conduct configure connect console consolidate convert copy correct
    count cover crawl create credit cross cut debit decide delete describe destroy detect develop disable
    discharge disconnect display divide double download drain drill drive drop dry dump duplicate edit empty enable
    encrypt enter erase estimate evaluate exchange execute exit expand export extend extract failover fasten
    fetch fill filter find finish fit fix flag flush fold follow freeze fry gather generate get give grate grind grow
    hang heat help hit host implement import include index ingest inject insert install integrate introduce
    join keep kill label launch lead learn leave level lift link lint load lock log loosen lower maintain make map mark
    mask match measure merge migrate mix modify monitor mount move mute number offer open order paginate pass
    patch pause pick place play plug point press prevent prime print process produce profile project prompt propose
    protect provide prune publish pull pump purge push queue quote raise read rebase reboot rebuild recalculate
    recharge record recover redirect reduce reformat refresh regenerate register release reload remove render reopen
    replace replicate report reproduce reset resize resolve respawn restart restore resume retrieve retry return reuse
    reverse revert rewrite ring roll rotate route run save scan search select separate serve set settle show shut skip
    soak solve sort spawn split spread stack start stop store straighten stretch strip submit subtract sum summarise
    summarize support surprise suspend swallow swap switch sync synchronise synchronize tag take tape tell test
    throttle throw tick tie tighten toast total trace track trade transfer transform transport treat trigger trim turn
    type unblock uninstall unload unlock unpack unplug update upgrade upload use validate vent verify void wake warm
    warn wash water weigh win work wrap write zero
    """.split()
)
# Whom a rule or a law binds, for everyone.
INSTITUTION = patterns.late(
    r"\b(?:insurers?|insurance|banks?|court|judge|government|state|law(?! firm)|police|hospital|school|university"
    r"|library|museum"
    r"|hotel|airline|railway|users?|customers?|callers?|visitors?|readers?|passengers?|borrowers?|voters?|winners?"
    r"|losers?|everyone|everybody|someone|players?|clients?|guests?|attackers?|compilers?|hosts?)\b",
    re.IGNORECASE,
)
HABIT = patterns.late(
    r"\b(?:always|usually|often|sometimes|normally|generally|typically|mostly|rarely|seldom|never|tends?|every"
    r"|each(?! of)"
    r"|most|likes?|loves?|by law|in general|as a rule|(?:mon|tues|wednes|thurs|fri|satur|sun)days|mornings|evenings"
    r"|weekends|nights)\b",
    re.IGNORECASE,
)
# What is so for a while: a habit goes with it.
STATE = patterns.late(
    r"\b(?:is|are|was|were|am|'s|'re|feels?|gets?|seems?|becomes?)\s+(?:too |very |so |really |at |all )*(?:away"
    r"|in(?=\s+\w)"
    r"(?! (?:stock|force|place|hand)\b)|at|on(?! (?:board|sale|air)\b)|under|out(?! of (?:stock|hospital)\b)|off"
    r"|sick|ill|busy|tired"
    r"|hungry|thirsty|asleep|awake|late|early|old|young|there|abroad|alone|bored|sad|happy|angry|upset|stressed|lonely"
    r"|cold|hot|dark|sunny|rainy|wet|hard|difficult|easy|necessary|possible|able|unable|not|no|needed|wrong|lazy"
    r"|nervous"
    r"|afraid|worried|interested)\b|\b(?:needs?|wants?|likes?|feels?|looks?|seems?|sounds?|can|could|has to|have to"
    r"|cries"
    r"|cry|sleeps?|sleeping|working|traveling|travelling)\b|\b(?:is|are) [a-z]+ing\b",
    re.IGNORECASE,
)
WEATHER = patterns.late(r"\bit(?:'s| is| has| starts| begins)?\b[^,]*\b(?:rain|snow|freez|storm|hail)", re.IGNORECASE)
GENERAL_MARKER = patterns.late(r"\W*(?:when|whenever|if|(?:each|every) time|in case)\b", re.IGNORECASE)
EACH = patterns.late(r"\W*(?:whenever|(?:each|every) time)\b", re.IGNORECASE)
SAME_ONE = patterns.late(r"\W*\w+(?:\s+(?:as|time|case|that))*\s+(?:he|she|it|they|you|one)\b", re.IGNORECASE)
# A condition that happens once begins with whom or what is known.
KNOWN = patterns.late(
    r"^\W*(?:(?:the|my|our|your|his|her|their|this|that|these|those|all|both|i|we|he|she|it|they|every(?:one|body)"
    r"|no ?(?:one|body))\b"
    rf"|(?-i:[A-Z])\w|\d|(?:customs|{GROUPS})\b)",
    re.IGNORECASE,
)
PAST = patterns.late(rf"\b(?:was|were|had|did|\w{{2,}}ed|{'|'.join(sorted(verbs.PASTS))})\b", re.IGNORECASE)
PERFECT = patterns.late(r"\b(?:is|are|has|have|gets?|be|been)\b|'(?:s|ve|re)\b", re.IGNORECASE)
WHOEVER = patterns.late(r"^\W*(?:an?|any|some|another|any(?:one|body)|some(?:one|body))\b", re.IGNORECASE)
OF_PEOPLE = patterns.late(
    rf"\b(?:we|our|us|i|my|he|she|his|her|him|the (?:[\w'-]+ )?(?:{ROLES})|{TEAMS})\b"
    r"|(?<!^)(?<![.:] )(?-i:\b[A-Z][a-z]+)",
    re.IGNORECASE,
)


def may_be_in(words: set[str]) -> bool:
    """Whether one of ``words`` is what somebody does, or should do."""
    return "should" in words or "you" in words or not verbs.DOES.keys().isdisjoint(words) or "ought" in words


def is_in(main: str, condition: str, clause: str) -> bool:
    """Whether ``main`` says what somebody does, or should do, once; ``clause`` is the ``condition`` without the words
    that begin it."""
    if HABIT.search(main) or NEGATION.search(main) or WEATHER.search(clause):
        return False
    if found := OUGHT.search(main):
        return not REPORTED.search(main[: found.start()]) and not INSTITUTION.search(found[0])
    found = DOES.search(main) or DO.search(main)
    if found is None or REPORTED.search(main[: found.start()]) or INSTITUTION.search(main[: found.end()]):
        return False
    general = GENERAL_MARKER.match(condition) is not None
    if STATE.search(clause) or HABIT.search(clause) or (general and SAME_ONE.match(condition)):
        return False
    if PAST.search(clause) and not PERFECT.search(clause):
        return False
    groups = found.groupdict()
    named, deed = groups.get("name") is not None, found["deed"].casefold()
    if WHOEVER.match(clause):
        return groups.get("team") is not None
    if not KNOWN.match(clause):
        return False
    is_loose = general and not OF_PEOPLE.search(clause)
    if groups.get("team") is not None:
        return True
    if named and (is_loose or EACH.match(condition)):
        return False
    return verbs.DOES.get(deed, deed) not in OF_THINGS or not (is_loose or (named and not OF_PEOPLE.search(clause)))


def as_order(main: str) -> str:
    """The order to tell somebody something that ``main`` has in the passive; else as it is."""
    return TO_BE_TOLD.sub(lambda found: f"{_verb(found['done'])} {found['whom']}", main, count=1)


def _verb(participle: str) -> str:
    done = participle.casefold()
    return verbs.BASES.get(done) or next(
        verb for verb in (done[:-1], done[:-2], done) if verb in verbs.ACTIONS or verb == done
    )
