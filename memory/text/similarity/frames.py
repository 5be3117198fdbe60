"""Frames with room for one value: "is on the … plan", "is insured with …", "runs PostgreSQL …", "should be in …".

Two statements that fill one frame of one thing with different values are about the same, although neither the value nor
the noun before it is of a sort. Only frames for which there is one value at a time are read.
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from memory.text.similarity import values
from memory.text.similarity.claims import Claim
from memory.text.similarity.gist import LONGEST, clauses_of, is_about_facts, judges, topic
from memory.text.similarity.statements import Spoken
from memory.text.similarity.tokens import (
    AND,
    ASKS,
    BREAK,
    CAPITAL,
    COMMON,
    NEGATION,
    PAST,
    PREPOSITION,
    SAID,
    UNKNOWN,
    VALUE,
    WORD,
    Token,
)

ARTICLES = frozenset("the a an".split())
BEING = (
    values.COPULAS
    | values.LIVES
    | values.MOVES
    | values.CHANGES
    | frozenset("place meets meet sits stays leaves departs".split())
)
# "On the Gold tier", "in stage discovery".
OF_A_CLASS = frozenset("plan tier package edition subscription tariff stage phase".split())
BY_A_NAME = frozenset(
    """
    pier gate platform berth counter stage phase region zone room building ward bay dock terminal hall class grade
    """.split()
)
PAYING = OF_A_CLASS - {"stage", "phase"}
PLANS = frozenset(
    "annual monthly yearly free premium basic pro standard enterprise family business starter plus".split()
)
INTO = frozenset("on in to at from".split())
NO_VALUES = frozenset(
    "same new old own current whole entire other another different usual right wrong next last every each all".split()
)
# "Is insured with AXA", "works for Bosch".
BOUND_TO = frozenset("insured hosted employed enrolled headquartered works employed banks".split())
# For whom one works is not where.
BINDING = {"with": "by", "by": "by", "on": "at", "at": "at", "for": "for"}
MODALS = frozenset(
    "should must be are is written sent published kept paid billed invoiced quoted answered issued".split()
)
# What a book is written in, it may not be published in: only these are as if they were not said.
OBLIGING = frozenset("should must be are is kept".split())
KINDS = frozenset("language currency units format".split())
RANKS = frozenset("junior mid-level senior principal staff lead associate assistant deputy chief trainee".split())
PROMOTING = frozenset("is a an got was been has promoted to as the".split())
BY_TURNS = frozenset("current latest next".split())
UNIQUE = BY_TURNS | frozenset("default favourite favorite preferred native".split())
RUNNING = frozenset("runs run uses use on to".split())
CHANGED = frozenset("upgraded updated migrated moved bumped switched is are".split())
# Their number is a version. Of a name that is no common word it is one as well.
PRODUCTS = frozenset(
    """
    python postgres postgresql mysql mariadb redis node node.js java php ruby rails django ubuntu debian fedora windows
    android ios macos kubernetes docker nginx elasticsearch kafka mongodb rust react angular vue swift kotlin gradle
    maven terraform ansible jenkins gitlab spring bootstrap wordpress drupal magento tomcat apache cassandra oracle
    rabbitmq webpack typescript flutter unity laravel symfony firefox chrome outlook excel word photoshop helm celery
    """.split()
)
PARTLY = frozenset("half most some many several part few two three others".split())
# A program runs on several of these, a machine on one.
SYSTEMS = frozenset("windows ubuntu debian fedora android ios macos".split())
MACHINES = frozenset(
    """
    server servers host hosts machine machines laptop laptops computer desktop workstation box vm node nodes cluster pc
    runner runners phone phones tablet tablets device devices gateway proxy fleet kiosk terminal
    """.split()
)
NEWEST = 100  # a greater number is a model, or names a thing
MOST_IN_A_VALUE = 3
WORDS = BY_A_NAME | BOUND_TO | UNIQUE | OF_A_CLASS | RANKS
WORDS |= {word for word, kind in values.KINDS_OF_PREFERENCE.items() if kind in KINDS}


def framed(said: Spoken) -> list[Claim]:
    """What the statement fills frames with."""
    tokens = said.tokens
    if said.strict or said.kinds & (ASKS | NEGATION) or len(tokens) > LONGEST:
        return []
    raws = {token.raw for token in tokens}
    if not (tokens and tokens[-1].kind & VALUE) and WORDS.isdisjoint(raws):
        return []
    if not is_about_facts(tokens, raws):
        return []
    if len(clauses_of(said)) > 1 and (UNIQUE.isdisjoint(raws) or sum([bool(each.kind & BREAK) for each in tokens]) > 1):
        return []
    if said.kinds & PAST and raws.isdisjoint(values.CHANGES):
        return []
    if tokens[0].raw in PARTLY or tokens[0].mask == "percent":
        return []
    tokens = [token for token in tokens if token.raw not in values.NOW]
    if any(token.kind & AND for token in tokens):
        return []
    found = (
        _of_a_class(tokens)
        or _bound(tokens)
        or _in_a_kind(tokens)
        or _unique(tokens)
        or _version(tokens)
        or _ranked(tokens)
    )
    if not found:
        return []
    rest, given, sort = found
    return topic(rest, given, f"frame {sort}", "value", explicit=sort != "version" or not _runs_on_several(tokens))


Found = tuple[list[Token], list[Token], str] | None


def _of_a_class(tokens: list[Token]) -> Found:
    """ "Is on the Gold tier", "moved to the third floor", "is in stage discovery"."""
    last = tokens[-1]
    if last.raw in OF_A_CLASS:
        into = next((at for at in range(len(tokens) - 2, 0, -1) if tokens[at].raw in INTO), 0)
        given = [token for token in tokens[into + 1 : -1] if token.raw not in ARTICLES]
        named, rest = last, [*tokens[:into], last]
    else:
        named = next((token for token in tokens[1:-1] if token.raw in BY_A_NAME), last)
        at = tokens.index(named)
        into = at - 1 if tokens[at - 1].raw in INTO else 0
        given, rest = tokens[at + 1 :], [*tokens[: max(into, 0)], named]
    if not into or tokens[into - 1].raw not in BEING or not 0 < len(given) < MOST_IN_A_VALUE:
        return None
    if any(
        token.raw in NO_VALUES or token.kind & (PREPOSITION | BREAK) or not token.kind & SAID for token in given[:-1]
    ):
        return None
    if named.raw in PAYING and not all(token.kind & CAPITAL or token.raw in PLANS for token in given):
        return None
    return None if given[-1].raw in NO_VALUES or not given[-1].kind & SAID else (rest, given, f"class {named.raw}")


def _bound(tokens: list[Token]) -> Found:
    at = next((at for at, token in enumerate(tokens[:-1]) if at and token.raw in BOUND_TO), 0)
    given = tokens[at + 2 :]
    if not at or tokens[at + 1].raw not in BINDING or not 0 < len(given) <= MOST_IN_A_VALUE:
        return None
    if tokens[at].raw == "works" and tokens[at + 1].raw == "with":  # one has several colleagues
        return None
    if not all(token.kind & (CAPITAL | UNKNOWN) and token.kind & WORD for token in given):
        return None
    return tokens[: at + 1], given, f"bound {tokens[at].raw} {BINDING[tokens[at + 1].raw]}"


def _in_a_kind(tokens: list[Token]) -> Found:
    """ "Menus should be in Dutch", "invoices are sent in euros", "default language: German"."""
    kind = values.KINDS_OF_PREFERENCE.get(tokens[-1].raw, "")
    if kind not in KINDS or len(tokens) < MOST_IN_A_VALUE or tokens[-2].raw != "in" or tokens[-3].raw not in MODALS:
        return None
    return [token for token in tokens[:-2] if token.raw not in OBLIGING], [tokens[-1]], f"kind {kind}"


def _unique(tokens: list[Token]) -> Found:
    """ "The default branch is main", "Ana's favourite colour: teal"."""
    start = next((at for at, token in enumerate(tokens) if token.raw in UNIQUE), -1)
    verb = next((at for at in range(start + 2, len(tokens)) if tokens[at].raw in ("is", "=")), 0)
    colon = next((at + 1 for at in range(start + 1, len(tokens) - 1) if tokens[at].kind & BREAK), 0)
    end, begins = (verb, verb + 1) if verb else (colon, colon)
    given = tokens[begins:]
    if start < 0 or not end or not 0 < len(given) < MOST_IN_A_VALUE or end - start > MOST_IN_A_VALUE:
        return None
    noun = tokens[end - 1].raw
    excluded = PREPOSITION if tokens[start].raw in BY_TURNS else PREPOSITION | VALUE
    if (noun.endswith("s") and not noun.endswith(("ss", "us", "is"))) or any(
        token.raw in ARTICLES or token.kind & excluded or judges(token) for token in given
    ):
        return None
    return tokens[:end], given, "is"


def _ranked(tokens: list[Token]) -> Found:
    """ "Is a junior developer", "was promoted to senior developer"."""
    at = len(tokens) - 2
    if at < 2 or tokens[at].raw not in RANKS or not tokens[-1].kind & WORD or tokens[-1].kind & CAPITAL:
        return None
    begins = at
    while begins > 1 and tokens[begins - 1].raw in PROMOTING:
        begins -= 1
    if begins == at:
        return None
    return [*tokens[:begins], tokens[-1]], [tokens[at]], "rank"


def _runs_on_several(tokens: list[Token]) -> bool:
    """Whether it may run on other systems as well: "the installer runs on Windows 11" is true of Windows 10 too."""
    raws = {token.raw for token in tokens[:-2]}
    on_a_system = tokens[-2].raw in SYSTEMS and tokens[-3].raw == "on"
    return on_a_system and raws.isdisjoint(MACHINES) and raws.isdisjoint(CHANGED - values.IS)


def _version(tokens: list[Token]) -> Found:
    """ "The crawler uses Ubuntu 22", "was upgraded to Postgres 16": a product's name and its number."""
    given, product = tokens[-1], tokens[-2] if len(tokens) > MOST_IN_A_VALUE - 1 else tokens[-1]
    number = given.raw.replace(".", "", 1)
    if not (given.kind & VALUE and number.isdigit() and float(given.raw) < NEWEST) or product is given:
        return None
    named = product.kind & CAPITAL and (product.raw in PRODUCTS or not product.kind & COMMON)
    at = len(tokens) - 3
    if not named or product.raw in values.NAMED_BY_NUMBER or tokens[at].raw not in RUNNING or at < 1:
        return None
    while at > 0 and (
        tokens[at].raw in RUNNING or tokens[at].raw in CHANGED or tokens[at].raw in ("was", "been", "has")
    ):
        at -= 1
    return [*tokens[: at + 1], product], [given], "version"
