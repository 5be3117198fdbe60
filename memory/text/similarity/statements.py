"""A text as the statement it makes, without what is said around it, and the keys under which its equals are found.

Texts whose order or layout carries meaning (JSON, very long ones, other scripts than Latin) are ``strict``:
they equal only what is the same but for case and white space.
"""

# ruff: noqa: RUF001 -- the signs are meant
# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import or_

from memory.text.similarity import values
from memory.text.similarity.notation import normalised, with_short_days
from memory.text.similarity.phrasing import rephrased
from memory.text.similarity.tokens import (
    AND,
    ASIDE,
    ASKS,
    BINDS,
    BITS,
    BREAK,
    BREAKING,
    CAPITAL,
    END,
    FOREIGN,
    HALT,
    IDIOM,
    NEGATION,
    OWNS,
    PERIODIC,
    PHRASE,
    PREPOSITION,
    PRONOUN,
    PROPER,
    SAID,
    SHAPED,
    SHOUTED,
    SPANNING,
    STOP,
    TALK,
    UNKNOWN,
    VALUE,
    WORD,
    WORDED,
    Token,
    Tokens,
    code_of,
    leading,
    meant_by,
    proper,
    word_token,
)
from memory.text.similarity.words import FIRST_ARTICLES, FOREIGN_ARTICLES, HEADS, PHRASES, SUBJECTS

MOST_LEAVES = 40
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
LONGEST, FEWEST = 200, 2
BULLETS = re.compile(r"(?m)^[^\S\n]*(?:[>*•–+-]+\s+)+")
# What stands around a note, and no word of which it is made.
INTRODUCED = re.compile(
    r"^\s*(?:re|heads[- ]?up|hint|tip|fun fact|fact|psa|tl;? ?dr|side note|one more thing|good to know"
    r"|(?:don'?t|do not) forget|reminder|memo|important|attention|new|latest|\d\)|1\.)"
    r"(?:\s*[:!,–—]\s+|(?<=forget) that |(?<=[).])\s+)",
    re.IGNORECASE,
)
THANKS = re.compile(r"[,.!;]?\s+(?:many )?(?:thanks|thank you|thx|cheers)(?: in advance)?\s*[.!]*\s*$", re.IGNORECASE)
SHELL = re.compile(r"\$\{?[A-Z_]{2,}")
FACES = re.compile("[\U0001f600-\U0001f60f\U0001f642\U0001f643\U0001f917\ufe0f]")
ENDS_AN_INTRODUCTION, LONGEST_INTRODUCTION = frozenset(":!,–—)."), 24
BULLETED = re.compile(r"\s*[>*•–+-]")
INTRODUCTION, POSTSCRIPT = 9, 6
QUESTION = code_of("question")
ORDERED = SAID | PRONOUN | BINDS
OBJECTS = frozenset(
    ["me", "you", "him", "her", "us", "them", "myself", "yourself", "himself", "herself", "ourselves", "themselves"]
)
JUST = b"just"
# "No, Ana is in Rome" denies what somebody else said.
ANSWER = replace(word_token("no-answer"), raw="no,")
POSSESSIVES = frozenset("my your his her our their".split())
SPEAKERS = frozenset("i we you".split())
POINTERS = frozenset("it this that these those".split())
# What is being done or becomes so, and what has been done or has become so. Without either it is so.
BECOMING = {
    **dict.fromkeys("wird werden werde wirst werdet".split(), "becomes"),
    **dict.fromkeys(
        "wurde wurden worden geworden fue fueron sido été został została zostało zostały zostali".split(), "became"
    ),
}
# In front of a word they say how much of it, which "too" behind it does not.
DEGREES = frozenset("too very".split())
POLISH_LETTERS = frozenset("ąćęłńśźż")
BE = frozenset("is are was were be been".split())
DUE = frozenset("is are was were has have had".split())
# At the end of a clause they say how it is, and lead to nothing.
PARTICLES = frozenset("on in at by with up over within to".split())
LIMITING = frozenset(("only", "just", "solely", "exclusively"))
# In a script without word rules, a number after "is", "at" or "to" is the value of the statement.
OTHER_SCRIPT = re.compile(r"[\u0370-\u1dff\u2e80-\ud7ff\uf900-\ufaff]")
# "At three in the afternoon" and "at half past eight"; nothing in front of it says more than that it is a time.
CHINESE_TIME = re.compile(
    r"在?(?:(?P<half>凌晨|早上|上午|中午|下午|晚上)?(?P<hour>十[一二]?|[一二两三四五六七八九]|\d{1,2})点(?P<past>半)?"
    r"(?!\d|[一二三四五六七八九十])|(?P<clock>\d{1,2}:\d{2}))"
)
CHINESE_WHEN = re.compile(
    r"每(?:天|[周月年])?[一二三四五六日]?|[这下上]?(?:周|星期|礼拜)[一二三四五六日天]|今天|明天|\d{1,2}月\d{1,2}[日号]|在\d{1,2}:\d{2}"
)
CHINESE_DAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
CHINESE_SIGNS = "零一二两三四五六七八九十百千万"
CHINESE_NUMBER = re.compile(rf"(?<![{CHINESE_SIGNS}])[{CHINESE_SIGNS}]{{2,12}}(?![{CHINESE_SIGNS}])")
CHINESE_COUNTED = re.compile(r"(?<=\d)个(?=人)")
# A number of one sign in front of what it counts; "每日" and "一天" say how often.
CHINESE_DIGIT = re.compile(
    r"(?<![一二两三四五六七八九十百千万点半每这第])[一二两三四五六七八九](?=[次年个天周月小人元台名楼层岁份间张本辆件条口只米斤分秒倍])"
)
CHINESE_PER_DAY = re.compile(r"每日|(?<=[^\d十])(?:一|1)天(?=[^ ]{0,2}\d+次)")
CHINESE_PASSIVE = re.compile(r"([^由，]{2,})由([^由，]{3,})")
# The first stands for all.
_CHINESE_WORDS = {
    word: first
    for line in """
    不营业 不开门 不开放
    电话 电话号码
    手机号 手机号码
    电脑 计算机
    自行车 单车 脚踏车
    买 购买
    妻子 老婆
    丈夫 老公
    父亲 爸爸
    母亲 妈妈
    孩子 小孩
    住在 居住在 居住于
    在 位于 坐落于 坐落在
    名叫 叫做 叫作
    是 担任
    不能 无法 不可以
    必须 务必
    无需 不必 无须
    马上 立即 立刻
    因为 由于
    如果 假如
    目前 现在
    喜欢 喜爱
    医生 大夫
    共有 一共有 总共有
    价格是 价格为 售价为 售价是
    """.strip().splitlines()
    for first, *others in (line.split(),)
    for word in others
}
CHINESE_SYNONYMS = re.compile("|".join(sorted(_CHINESE_WORDS, key=len, reverse=True)))
# "Is at work at the bank" is to work there; "at work at nine" is to begin.
CHINESE_WORK = re.compile(r"(?<=在)([^，\d]{2,6})上班$")
CHINESE_ROLE = re.compile(
    r".*(?:经理|总监|主任|负责人|主管|组长|队长|校长|院长|店长|厂长|会长|主席|总裁|老板|班主任|教练)"
)
CHINESE_DIGITS, CHINESE_UNITS = "零一二三四五六七八九", {"十": 10, "百": 100, "千": 1000}
# "The manager has become Liu Fang", "moved to Beijing": what there is one of, and what it was changed to.
CHINESE_CHANGE = re.compile(r"(.{2,}?)(?:已经?)?(?:换成了?|改成了?|改为了?|变成了|变更为|调整为|更换为)(.+)")
CHINESE_IS = re.compile(r"([^是]{2,})是([^是]+)")
CHINESE_DONE, CHINESE_NOT_DONE = (
    re.compile(r"(.{2,}?)已经?(.{2,}?)了?"),
    re.compile(r"(.{2,}?)(?:还没有?|尚未|还未|没有)(.{2,})"),
)
# Of these there is one at a time, and what it is may be said without a word for a change.
CHINESE_OFFICE = re.compile(
    ".*(?:经理|[店校院队组班部厂会馆社行]长|主任|主管|总监|主席|总裁|负责人|联系人|房东|教练|主编)"
)
CHINESE_ATTRIBUTE = re.compile(
    ".*(?:密码|口令|地址|电话|号码|邮箱|房租|租金|工资|价格|版本|截止日期|截止时间|地点|状态|主题|默认语言|供应商)"
)
CHINESE_NAME = re.compile(
    "[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董程曹袁邓许沈曾彭吕苏卢蒋蔡贾丁魏薛叶余潘杜戴夏钟汪"
    "田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文].{1,2}"
)
CHINESE_NO_FACT = re.compile("如果|要是|假如|以为|认为|觉得|听说|可能|也许|希望|建议|说|想|[吗呢？?]|的$|就好")
# When something is, and when it was moved to.
CHINESE_SET = re.compile(r"(.{2,}?)(?:定在|安排在|改到了?|改在了?|推迟到了?|提前到了?|调到了?)(.+)")
CHINESE_RESET = re.compile("改到|改在|推迟到|提前到|调到")
CHINESE_MOVE, CHINESE_HOME = (
    re.compile(r"(.{1,}?)(?:已经?)?(?:搬到了?|搬去了?|迁到了?)(.+)"),
    re.compile(r"(.+?)住在(.+)"),
)
SPANNED = re.compile("[从到至]")
EQUATED = re.compile(r"[是为為在到至は]\s?(\d[\d.,:]*)(?!\d)")
_starting: dict[str, list[tuple[str, ...]]] = {}


@dataclass(frozen=True, slots=True)
class Leaf:
    """One scalar; ``rest`` is the digest of everything else in the record and of the scalar's place."""

    rest: int
    value: str
    changes: bool
    replaces: bool = True


def record(text: str) -> tuple[int, tuple[Leaf, ...]] | None:
    """The number of what the text holds, 64 bits, and its scalars; None when it is no JSON of modest size."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    leaves = list(_leaves(found, ()))
    if len(leaves) > MOST_LEAVES:
        return None
    codes = [code_of(f"leaf {path} {shown}") for path, shown in leaves]
    whole = sum(codes) & BITS
    happened = any(_words(path) & values.HAPPENING for path, _ in leaves)
    told = tuple(
        Leaf(
            (whole - code + code_of(f"at {path}")) & BITS,
            shown,
            not happened and len(leaves) > 1 and bool(_words(path[-1:]) & values.CHANGING),
        )
        for (path, shown), code in zip(leaves, codes, strict=True)
    )
    return whole, told


def _leaves(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _leaves(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for at, each in enumerate(value):
            yield from _leaves(each, (*path, str(at)))
    else:
        yield path, json.dumps(value)


def _words(path: tuple[str, ...]) -> set[str]:
    return {word.casefold() for key in path[-1:] for word in WORDS.findall(key)}


for _phrase in sorted(PHRASES, key=len, reverse=True):
    _starting.setdefault(_phrase[0], []).append(_phrase)


@dataclass(slots=True)
class Spoken:
    """The tokens that make the statement, in their order; none of them when it is ``strict``."""

    tokens: list[Token]
    kinds: int
    strict: int = 0
    leaves: tuple[Leaf, ...] = ()
    whole: int = 0  # of the text as it is written, where only one word of it says anything

    @property
    def key(self) -> int:
        """The same for statements of the same words, values and negations in whatever order; 64 bits."""
        if self.strict:
            return self.strict
        total = sum([token.code for token in self.tokens if token.kind & SAID])
        return (total + QUESTION if self.kinds & ASKS else total) & BITS

    @property
    def order(self) -> bytes:
        """The same for statements that say the same in the same order; of two with one key, no more need be asked."""
        words = [
            token.bytes + b"'" if token.kind & OWNS else token.bytes or JUST
            for token in self.tokens
            if token.kind & ORDERED or token.raw in ("just", "being")
        ]
        mode = self.mode
        return b"".join([*words, repr(mode).encode()] if mode else words)

    @property
    def mode(self) -> tuple[tuple[str, int], ...]:
        """How it is said to be, by words that name nothing: still to be done, becoming, too much, on or in."""
        found = [(word, 0) for token in self.tokens if (word := BECOMING.get(token.raw))]
        for at, (before, token) in enumerate(pairwise(self.tokens), 1):
            follows = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
            if token.raw == "be":
                would = before.kind & PRONOUN or before.raw in SUBJECTS  # "that'd be late"
                found += [("ahead", 0)] if would or (before.raw == "to" and self._is_due()) else []
            elif before.raw in DEGREES and token.kind & WORD and not before.kind & BREAK:
                found.append((before.raw, token.concept))
            elif before.raw == "then" and at > 1 and self.tokens[0].raw not in values.CONDITIONAL:
                found.append(("then", token.concept))
            elif before.kind & AND and token.raw in POSSESSIVES:  # "Ana and her brother" are two
                found.append(("and", 0))
            elif token.raw == "well" and not before.kind & BREAK:  # "hears well", and not "well, she hears"
                found.append(("well", 0))
            elif token.raw in PARTICLES and (
                not follows or (before.raw in BE and (token.kind & BREAK or follows.kind & PREPOSITION))
            ):
                found.append((token.raw, 0))
        if self.whole:
            found.append(("whole", self.whole))
        return tuple(sorted(found))

    @property
    def names(self) -> frozenset[int]:
        """The codes of the words that a capital inside a sentence marks as names. A title and a shout mark none."""
        if not self.kinds & CAPITAL:
            return frozenset()
        inside = [
            token.code
            for before, token in zip(self.tokens, self.tokens[1:], strict=False)
            if token.kind & CAPITAL and not before.kind & END and token.kind & WORD
        ]
        words = sum([1 for token in self.tokens if token.kind & WORD])
        return frozenset(inside) if inside and 2 * len(inside) <= words else frozenset()

    @property
    def persons(self) -> frozenset[int]:
        """Codes of those it speaks of as I, you, she."""
        if not self.kinds & PRONOUN:
            return frozenset()
        return frozenset(token.code for token in self.tokens if token.kind & PRONOUN)

    def speaks_of_the_same_as(self, other: "Spoken") -> bool:
        """Whether the two speak of the same persons, or one says more of whose a thing is or who says so: "(our)
        customers pay", "(we) ship on Monday"; "it was late" is not "I was late"."""
        if self.persons == other.persons:
            return True
        few, many = sorted((self, other), key=lambda said: len(said.persons))
        if not few.persons < many.persons or few.pointers - many.pointers:
            return False
        more = many.persons - few.persons
        return all(
            token.raw in POSSESSIVES or (not at and token.raw in SPEAKERS)
            for at, token in enumerate(many.tokens)
            if token.kind & PRONOUN and token.code in more
        )

    def _is_due(self) -> bool:
        """Whether something "is to be" or "has to be"."""
        raws = [token.raw for token in self.tokens]
        return any(raws[at : at + 2] == ["to", "be"] and raws[at - 1] in DUE for at in range(1, len(raws) - 1))

    @property
    def pointers(self) -> frozenset[str]:
        """The words in it for what is named elsewhere."""
        return POINTERS.intersection([token.raw for token in self.tokens])

    @property
    def acted_on(self) -> frozenset[int]:
        """Codes of those that a verb acts on in front of a preposition: who is added in "add me to the list"."""
        if not self.kinds & PRONOUN:
            return frozenset()
        threes = zip([None, *self.tokens], self.tokens, self.tokens[1:], strict=False)
        return frozenset(
            token.code
            for before, token, following in threes
            if token.raw in OBJECTS and following.kind & PREPOSITION and not (before and before.kind & PREPOSITION)
        )

    def bound(self, kind: int, within_clause: bool = False) -> list[tuple[int, int]]:
        """Each negation, or word of direction, with what it is said of: what follows it, or else what went before."""
        if not self.kinds & kind:
            return []
        said = [token for token in self.tokens if token.kind & (SAID | AND)] if within_clause else self._said_tokens()
        pairs = []
        for at, token in enumerate(said):
            if token.kind & kind:
                last = at + 1 == len(said) or (
                    within_clause and (token.kind & BREAK or said[at + 1].kind & AND or said[at + 1].raw == "if")
                )
                pairs.append((token.code, said[at - 1 if last else at + 1].code))
        return sorted(pairs)

    def limits_as(self, other: "Spoken") -> bool:
        """Whether "only" is said of the same in both, and "just" where both have it."""
        raws = [{token.raw for token in each.tokens} & LIMITING for each in (self, other)]
        if not raws[0] and not raws[1]:
            return True
        words = LIMITING if "just" in raws[0] & raws[1] else LIMITING - {"just"}
        return _limited(self.tokens, words) == _limited(other.tokens, words)

    def with_meant(self, meant: dict[int, Token]) -> "Spoken":
        """With the words that were meant for the codes of slips."""
        tokens = [meant.get(token.code, token) for token in self.tokens]
        return Spoken(tokens, self.kinds | reduce(or_, (word.kind for word in meant.values()), 0))

    def _said_tokens(self) -> list[Token]:
        return [token for token in self.tokens if token.kind & SAID]

    @property
    def slips(self) -> list[tuple[Token, Token]]:
        """The words that may be a slip of the pen, each with what may have been meant: never a name."""
        if self.strict or not self.kinds & UNKNOWN:
            return []
        found = [(token, word) for token in self.tokens if token.kind & UNKNOWN for word in meant_by(token.raw)]
        if not found:
            return []
        names = self.names
        return [(token, word) for token, word in found if token.code not in names]


def _limited(tokens: list[Token], words: frozenset[str]) -> list[int]:
    """The concept behind each of the words, or before it at the end of a clause."""
    said = [token for token in tokens if token.kind & SAID or token.raw in words]
    found = []
    for at, token in enumerate(said):
        if token.raw in words and len(said) > 1:
            last = at + 1 == len(said) or (token.kind & BREAK and at > 0)
            beside = said[at - 1 if last else at + 1]
            found.append(beside.concept or beside.code)
    return sorted(found)


def parse_statement(text: str, tokens: Tokens) -> Spoken:
    """What ``text`` says."""
    written = text
    if "$" in text and SHELL.search(text):
        return _strict(text)
    if not ENDS_AN_INTRODUCTION.isdisjoint(text[:LONGEST_INTRODUCTION]) or "forget that" in text:
        text = INTRODUCED.sub("", text)
    if "hank" in text or "thx" in text or "heers" in text:
        text = THANKS.sub("", text)
    if not text.isascii():
        text = FACES.sub("", text)
    text = BULLETS.sub(" ", text) if "\n" in text or BULLETED.match(text) else text
    if text.lstrip()[:1] in ("{", "["):
        return _record(text)
    if not text.isascii() and OTHER_SCRIPT.search(text):
        return _strict(text)
    found = tokens.split(text)
    kinds = 0
    for token in found:
        kinds |= token.kind
    if " do" in text:
        found = _with_polish_leads(found)
    if found and found[0].raw == "no" and found[0].kind & BREAK:
        found = [ANSWER.with_kind(found[0].kind & BREAKING), *found[1:]]
    if kinds & FOREIGN or len(found) > LONGEST:
        return _strict(text)
    if kinds & ASIDE:
        found = _without_introduction(found)
    if kinds & SPANNING:
        found, kinds = _with_kinds(with_short_days(found), found, kinds)
    if kinds & (IDIOM | NEGATION | SHAPED | WORDED):
        found, kinds = _with_kinds(rephrased(found, kinds), found, kinds)
    if kinds & (VALUE | PERIODIC | SPANNING):
        found, kinds = _with_kinds(normalised(found, kinds), found, kinds)
    if kinds & PHRASE:
        found = _without_phrases(found)
    if kinds & ASIDE:
        found = _without_postscript(_without_introduction(found))
    if found and found[0].raw == ">":
        found = found[1:]
    if kinds & PROPER:
        found = _with_proper(found)
    if len(found) > 2 and FIRST_ARTICLES.get(found[0].raw) is bool(found[1].kind & CAPITAL) and _is_plain(found[1:]):
        found = [replace(found[0], code=0, bytes=bytes(8), kind=STOP), *found[1:]]
    if not kinds & SAID:
        return _strict(text)
    few = sum([1 for token in found if token.kind & SAID]) < FEWEST
    return Spoken(found, kinds, whole=_whole(tokens.split(written)) if few else 0)


def _with_polish_leads(tokens: list[Token]) -> list[Token]:
    """With a preposition for the Polish "do" ("to"): in front of a name or value, or in a text with Polish letters."""
    polish = any(not POLISH_LETTERS.isdisjoint(token.raw) for token in tokens)
    return [
        leading(token) if token.raw == "do" and at and (polish or follows.kind & (CAPITAL | VALUE)) else token
        for at, (token, follows) in enumerate(zip(tokens, [*tokens[1:], tokens[-1]], strict=True))
    ]


def _whole(tokens: list[Token]) -> int:
    """The same for statements of the same words, with those that say nothing of their own, in one order."""
    worded = rephrased(tokens, reduce(or_, [token.kind for token in tokens]))
    return code_of(" ".join(["whole", *(token.raw for token in worded if token.raw not in ("a", "an", "the"))]))


def _with_kinds(made: list[Token], before: list[Token], kinds: int) -> tuple[list[Token], int]:
    """The tokens with the kinds of all of them, which ``kinds`` are if they are those of ``before``."""
    return made, kinds if made is before else reduce(or_, [token.kind for token in made], 0)


def _is_plain(tokens: list[Token]) -> bool:
    """Whether there is neither another article nor a phrase that might stand in front as well."""
    return not any(token.raw in FOREIGN_ARTICLES or token.raw in HEADS for token in tokens)


def _with_proper(tokens: list[Token]) -> list[Token]:
    """With small words that are names here, by a capital inside the sentence or by all capitals; titles have none."""
    words = [token for token in tokens[1:] if token.kind & WORD]
    inside = sum([1 for token in words if token.kind & CAPITAL])
    if 2 * inside > max(len(words), 2):
        return tokens
    return [
        proper(token) if token.kind & PROPER and _is_proper(tokens[at - 1] if at else None, token) else token
        for at, token in enumerate(tokens)
    ]


def _is_proper(before: Token | None, token: Token) -> bool:
    if token.kind & SHOUTED:
        return True
    return before is not None and not before.kind & (END | HALT) and not token.kind & PRONOUN


def _record(text: str) -> Spoken:
    found = record(text)
    return Spoken([], 0, found[0] or 1, found[1]) if found else _strict(text)


def _strict(text: str) -> Spoken:
    """Objects keep their case; prose does not, nor the sign that ends it."""
    whole = CHINESE_TIME.sub(_clock, " ".join(unicodedata.normalize("NFKC", text).split()))
    if whole[:1] in ("{", "[") or not OTHER_SCRIPT.search(whole):
        return Spoken([], 0, code_of(f"strict {_uncased(whole)}") or 1)
    whole = CHINESE_NUMBER.sub(_chinese_number, CHINESE_DAY.sub(_chinese_day, whole))
    whole = CHINESE_DIGIT.sub(lambda found: str(CHINESE_DIGITS.find(found[0].replace("两", "二"))), whole)
    whole = CHINESE_PER_DAY.sub("每天", whole)
    whole = CHINESE_SYNONYMS.sub(lambda found: _CHINESE_WORDS[found[0]], CHINESE_COUNTED.sub("", whole))
    whole = CHINESE_WORK.sub(r"\1工作", _uncased(whole.replace("可以", "可")))
    if found := CHINESE_PASSIVE.fullmatch(whole):  # "the invoice by finance is checked": "finance checks the invoice"
        whole = f"{found[2]}{found[1]}"
    if (found := CHINESE_SET.fullmatch(whole)) and not CHINESE_NO_FACT.search(whole):
        leaf = Leaf(code_of(f"set {found[1]}"), found[2], True, bool(CHINESE_RESET.search(whole)))
        return Spoken([], 0, code_of(f"strict {whole}") or 1, (leaf,))
    times = [] if SPANNED.search(whole) else sorted(CHINESE_WHEN.findall(whole))
    if times:  # they may stand in front or behind the subject
        whole = " ".join([*times, re.sub("[,，、]", "", CHINESE_WHEN.sub("", whole))])
    found = EQUATED.search(whole)
    if found:
        rest = f"equated {whole[: found.start(1)]} {whole[found.end(1) :]}"
        return Spoken([], 0, code_of(f"strict {whole}") or 1, (Leaf(code_of(rest), found.group(1), True),))
    named = CHINESE_IS.fullmatch(whole)
    roles = sum(bool(CHINESE_ROLE.fullmatch(each)) for each in named.groups()) if named else 0
    either = named and (
        (("的" in whole) and not whole.endswith("的")) or roles == 1
    )  # "the manager is Ana" and "Ana is the manager"
    key = sorted(named.groups()) if named and either else whole
    return Spoken([], 0, code_of(f"strict {key}") or 1, _chinese_leaves(whole))


def _uncased(whole: str) -> str:
    """Prose without its case and the sign that ends it; an object as it is."""
    return whole if whole[:1] in ("{", "[") else whole.casefold().rstrip(".!。 ")


def _chinese_day(found: re.Match[str]) -> str:
    return f"周{found[1].replace('天', '日')}"


def _chinese_number(found: re.Match[str]) -> str:
    """The digits of a number in Chinese, 1200 of "一千二百" and of "一千二" too; anything else as it is."""
    many, ten_thousand, few = found[0].replace("两", "二").rpartition("万")
    upper = (_below_ten_thousand(many, 1) if many else None) if ten_thousand else 0
    lower = _below_ten_thousand(few, 10_000 if ten_thousand else 0) if few else 0
    return found[0] if upper is None or lower is None else str(upper * 10_000 + lower)


def _below_ten_thousand(signs: str, unit: int) -> int | None:
    """The number, behind a ``unit`` if there is one; None for what is none, or has no unit."""
    total, digit, last, least, known = 0, 0, unit, 10_000, bool(unit)
    for sign in signs:
        if sign in CHINESE_UNITS:
            last = CHINESE_UNITS[sign]
            if last >= least or (not digit and (sign != "十" or total)):
                return None
            total, digit, least, known = total + max(digit, 1) * last, 0, last, True
        elif digit or sign not in CHINESE_DIGITS:
            return None
        else:
            digit, last = CHINESE_DIGITS.find(sign), 10 if sign == "零" else last
    return total + digit * max(last // 10, 1) if known else None


def _chinese_leaves(whole: str) -> tuple[Leaf, ...]:
    """What is said of the one thing that it is about: only what speaks of a change replaces it."""
    for form, value in ((CHINESE_DONE, "done"), (CHINESE_NOT_DONE, "not done")):
        if found := form.fullmatch(whole):
            return (Leaf(code_of(f"done {found[1]} {found[2]}"), value, True, value == "done"),)
    forms = (
        (CHINESE_CHANGE, "is", True), (CHINESE_IS, "is", False),
        (CHINESE_MOVE, "lives", True), (CHINESE_HOME, "lives", False),
    )  # fmt: skip
    for form, verb, replaces in forms:
        if found := form.fullmatch(whole):
            of_one = verb == "is" and not CHINESE_NO_FACT.search(whole) and _is_of_one_in_chinese(*found.groups())
            return (Leaf(code_of(f"{verb} {found[1]}"), found[2], True, replaces or of_one),)
    return ()


def _is_of_one_in_chinese(what: str, value: str) -> bool:
    """Whether it is an office with a name, or an attribute of which there is one."""
    held = CHINESE_OFFICE.fullmatch(what) and CHINESE_NAME.fullmatch(value)
    return bool(held or CHINESE_ATTRIBUTE.fullmatch(what))


def _clock(found: re.Match[str]) -> str:
    """The time of 24 hours that was said in Chinese."""
    if found["clock"]:
        return f"在{found['clock']}"
    said = found["hour"]
    hour = (
        int(said)
        if said.isdecimal()
        else ("零一二三四五六七八九十".find(said.replace("两", "二")[-1]) + 10 * (len(said) > 1))
    )
    late = found["half"] in ("下午", "晚上") and hour < 12
    return f"在{hour + 12 * late}:{'30' if found['past'] else '00'}"


def _without_phrases(tokens: list[Token]) -> list[Token]:
    kept: list[Token] = []
    done = 0
    for at in [at for at, token in enumerate(tokens) if token.raw in _starting]:
        length = _phrase_at(tokens, at) if at >= done else 0
        if length:
            kept += tokens[done:at]
            done = at + length
    if not done:
        return tokens
    kept += tokens[done:]
    return kept if any(token.kind & SAID for token in kept) else tokens


def _phrase_at(tokens: list[Token], at: int) -> int:
    for phrase in _starting.get(tokens[at].raw, ()):
        if tuple(token.raw for token in tokens[at : at + len(phrase)]) == phrase:
            return len(phrase)
    return 0


def _without_introduction(tokens: list[Token]) -> list[Token]:
    """Without "Just to confirm:", "Please note that" and the like, as often as they come."""
    aside = 0
    for at, token in enumerate(tokens[:INTRODUCTION]):
        if (not token.kind & TALK and token.raw) or token.raw == "but":
            return tokens
        aside |= token.kind & ASIDE
        if aside and (token.kind & (BREAK | HALT) or token.raw == "that"):
            rest = tokens[at + 1 :]
            said = sum([1 for each in rest if each.kind & SAID])
            if not said or (not at and token.kind & END and (token.raw in ADDING or said < LEAST_SAID)):
                return tokens  # "Add: an index", "Update: src/main"
            corrects = any(each.raw in CORRECTING for each in tokens[: at + 1])
            return _without_introduction(_as_of_now(rest) if corrects else rest)
    return tokens


ADDING, LEAST_SAID = frozenset(("add", "added", "adding", "found")), 3
CORRECTING = frozenset(("correction", "correcting", "corrected", "update"))


def _as_of_now(tokens: list[Token]) -> list[Token]:
    """ "Change of plan: we meet at ten" is "we meet at ten now"."""
    end = max(at for at, token in enumerate(tokens) if token.raw)
    if any(token.kind & BREAKING for token in tokens[:end]):
        return tokens
    will = next((at for at, token in enumerate(tokens[:end]) if (token.raw, tokens[at + 1].raw) == ("will", "be")), 0)
    if will:  # "the wedding will be in Verona"
        tokens, end = [*tokens[:will], word_token("is"), *tokens[will + 2 :]], end - 1
    last = tokens[end]
    return [*tokens[:end], last.without_kind(BREAKING), word_token("now").with_kind(last.kind & BREAKING)]


def _without_postscript(tokens: list[Token]) -> list[Token]:
    """Without ", as you know" and the like after the last comma."""
    end = next((back for back, token in enumerate(reversed(tokens)) if token.raw), 0)
    tokens = tokens[: len(tokens) - end]
    for back in range(1, min(POSTSCRIPT, len(tokens) - 1) + 1):
        if not tokens[-back].kind & TALK or tokens[-back].raw == "but":
            return tokens
        before = tokens[-back - 1].kind
        if before & BREAK and not before & END and any(token.kind & ASIDE for token in tokens[-back:]):
            return tokens[:-back]
    return tokens
