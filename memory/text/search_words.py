"""How text is cut into words for full text, the same for index and query on both engines; stop words and stems.

Input is in search form (``matching.search_form``). A word is a run of letters, digits and marks. A script without
spaces is cut into pairs of neighbours, the last character alone, so that a text is found inside a longer one. Indexes
store these words, so a change of the rule needs a migration that rebuilds them.

The language of an entry is not known: a word is indexed as it is, with its stem in every language of its script, and a
query uses the stems of the language with most of its stop words.
"""

# ruff: noqa: RUF001 (Russian)

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import Stemmer

from memory.text.matching import search_form
from memory.text.remembered import remembered

LONGEST = 64
MAX_WORDS = 8
PARTS = 4
MOST_ASKED = 64
QUOTED = re.compile(r'"([^"]+)"')
# In a mail address, an address of the web, a name with dots, an amount, a share, a time, a version.
MEANT_WHOLE = re.compile(r"@|://|\w\.\w|\d[,:/]\d|[$\u20ac\u00a3\u00a5]\s?\d|\d[%\u20ac]")
# Thai to Lao, Myanmar, Khmer, Tai, kana and Han, and the signs that stand for words.
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u2600-\u27bf\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff]+"
)


class _Letters(dict[int, str]):
    """What each character becomes: itself, or a space between words; found out at its first occurrence."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kept = char.isalnum() or unicodedata.category(char)[0] == "M" or UNSPACED.match(char)
        found = self[code] = char if kept else " "
        return found


_LETTERS = _Letters()
_ASCII = bytes(ord(_LETTERS[code]) if code < 128 else code for code in range(256))


def words_of(folded: str) -> list[str]:
    """The different words of a text in search form, each at most ``LONGEST`` characters, in the order they occur."""
    return list(dict.fromkeys(every_word_of(folded)))


def every_word_of(folded: str) -> list[str]:
    """The words of a text in search form as often as they occur."""
    # Most texts are ASCII, and bytes are translated ten times as quickly.
    spaced = folded.encode().translate(_ASCII).decode() if folded.isascii() else folded.translate(_LETTERS)
    if spaced.isascii():
        return [word[:LONGEST] for word in spaced.split()]
    return [part for word in spaced.split() for part in _cut(word)]


def _cut(word: str) -> list[str]:
    """The words of a run without spaces: separators, and the pairs of each unspaced stretch."""
    parts, at = [], 0
    for stretch in UNSPACED.finditer(word):
        parts += [word[at : stretch.start()]] if stretch.start() > at else []
        found = stretch[0]
        parts += [found[first : first + 2] for first in range(len(found))]
        at = stretch.end()
    return [part[:LONGEST] for part in (*parts, word[at:]) if part]


@dataclass(frozen=True, slots=True)
class Sought:
    """A query: each of ``words`` begins a word of the text, and each of ``literals`` occurs in it.

    By relevance any of ``asked`` counts, the words as they are, and each of ``phrases`` occurs in the text. ``meaning``
    is a vector (float32, of length 1), where there is one: the nearest count as well.
    """

    words: tuple[str, ...]
    literals: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    meaning: bytes = b""

    def is_in(self, folded: str) -> bool:
        """Whether a text in search form begins words with all of ``words``."""
        there = f" {' '.join(words_of(folded))}"
        return all(f" {word}" in there for word in self.words)


def sought(text: str) -> Sought:
    """The first ``MAX_WORDS`` words of a query as it was typed; without any letter or digit it finds nothing.

    A word with signs inside (a mail address, an amount), one of an unspaced script, and what is in quotes must stand in
    the text as typed. By relevance only quotes are taken so, and a query that is one such address, amount or version;
    up to ``MOST_ASKED`` words count.
    """
    folded = search_form(text)
    phrases = tuple(dict.fromkeys(each.strip() for each in QUOTED.findall(folded) if words_of(each)))
    words: list[str] = []
    literals: list[str] = list(phrases)
    chunks = QUOTED.sub(r" \1 ", folded).split()
    for chunk in chunks[:MAX_WORDS]:
        spaced = chunk.translate(_LETTERS)
        bare = chunk[len(spaced) - len(spaced.lstrip()) : len(spaced.rstrip())]
        found = words_of(bare)
        if found != [bare]:
            literals += [bare] if bare else []
        words += found[:PARTS]
    if len(chunks) == 1 and not phrases and literals and _is_meant_whole(literals[0]):
        phrases = (literals[0],)
    asked = tuple(words_of(folded)[:MOST_ASKED])
    return Sought(tuple(dict.fromkeys(words)), tuple(dict.fromkeys(literals)), phrases, asked)


def _is_meant_whole(chunk: str) -> bool:
    """Whether a run without blanks is an address, an amount or a version: not joined words ("gpt-4"), and not of an
    unspaced script, where a question has no blanks."""
    return bool(MEANT_WHOLE.search(chunk)) and not UNSPACED.search(chunk) and len(every_word_of(chunk)) > 1


SHORTEST_STEMMED, LONGEST_STEMMED = 3, 32
# Each has one bit of the masks below, in this order: only ever append, since the index keeps masks.
STOP_WORDS = {
    "english": (
        "a about after again all also am an and any are as at be because been before being between both but by can "
        "could d did do does doing don down during each few for from further had has have having he her here hers "
        "him his how i if in into is it its just ll m me more most my no nor not of off on once only or other our "
        "out over own re s same she should so some such t than that the their theirs them then there these they "
        "this those through to too under until up ve very was we were what when where which while who whom whose "
        "why will with would you your yours"
    ),
    "german": (
        "aber als am an auch auf aus bei bin bis bist da damit dann das dass dein dem den denn der des dessen die "
        "dies diese dieser dieses doch dort du durch ein eine einem einen einer eines er es euer für hat hatte "
        "hatten hier ich ihm ihn ihr ihre ihrem ihren ihrer im in ist ja kann kein keine man mein mich mir mit nach "
        "nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so über um und uns "
        "unser unter vom von vor wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn "
        "wer werden wessen wie wieder will wir wird wo worden wurde wurden zu zum zur zwischen"
    ),
    "french": (
        "à au aux avec avait ce ces cet cette comment d dans de des dont du elle elles en est et eu été être il ils "
        "j je l la le les leur leurs lui ma mais me même mes moi mon n ne nos notre nous on ont ou où par pas "
        "pendant plus pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se sera ses si son sont "
        "sur ta te tes toi ton tu un une vos votre vous y"
    ),
    "spanish": (
        "a al algo ante antes como cómo con contra cual cuál cuando cuándo cuánto de del desde donde dónde durante "
        "e el él ella ellas ellos en entre era es esa ese eso esta está están este esto estos fue fueron ha había "
        "han hasta hay la las le les lo los más me mi mis muy no nos o para pero por porque que qué quien quién se "
        "ser si sí sin sobre son su sus también te tiene tu tus un una uno unos y ya yo"
    ),
    "italian": (
        "a ad ai al alla alle anche c che chi ci come con cosa cui d da dai dal dalla dalle degli dei del della "
        "delle di dopo dove e è ed era fra gli ha hanno ho i il in io l la le lei li lo loro ma mi mia mio ne nei "
        "nel nella noi non o per perché più qual quale quali quando quanto quello questa questo se sei si sia sono "
        "su sua sue sul sulla suo suoi ti tra tu un una uno vi voi"
    ),
    "portuguese": (
        "a à ao aos as às até com como da das de dela dele depois do dos e é ela ele eles em entre era essa esse "
        "esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos "
        "nós num numa o os ou para pela pelo por porque qual quais quando quanto que quem são se sem ser seu seus "
        "só sua suas também te tem tinha um uma você"
    ),
    "dutch": (
        "aan al alles als bij dan dat de den der deze die dit doch door dus een en er ge geen had heb hebben heeft "
        "het hier hij hoe hun ik in is ja je kan maar me met mijn na naar niet nog nu of om omdat onder ons ook op "
        "over te tot u uit van veel voor waar waarom wanneer waren was wat welke werd wie wij worden wordt zal ze "
        "zich zij zijn zo zonder zou"
    ),
    "polish": (
        "a aby ale bez będzie był była było były by być ci co czy dla dlaczego do gdy gdzie go i ich ile im ja jak "
        "jaka jaki jakie jako jego jej jest już kiedy kim kto która które który lub ma mają mi mnie może na nad nas "
        "nie niej nim nimi o od ona one oni ono oraz po pod przed przez przy są się sobie ta tak także tam te tego "
        "tej ten to tu tych tylko tym u w we więc z za ze że"
    ),
    "russian": (
        "а без бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть еще "
        "ещё же за зачем здесь и из или им их к как какая какие какой ко когда кто куда ли мне мы на нас не него "
        "нее неё нет ни них но ну о об он она они оно от по под почему при с сколько со так также то тоже только "
        "том ты у уже что чтобы чья эта эти это этот я"
    ),
}
ALL = (1 << len(STOP_WORDS)) - 1
_BITS = {language: 1 << place for place, language in enumerate(STOP_WORDS)}
ENGLISH, _RUSSIAN = _BITS["english"], _BITS["russian"]


@cache
def _stop_words() -> dict[str, int]:
    """Of each stop word, the languages that have it."""
    found: dict[str, int] = {}
    for language, words in STOP_WORDS.items():
        for word in words.split():
            found[word] = found.get(word, 0) | _BITS[language]
    return found


@cache
def _stemmers() -> list[tuple[int, Stemmer.Stemmer]]:
    return [(bit, Stemmer.Stemmer(language, 0)) for language, bit in _BITS.items()]


def language_of(words: Iterable[str]) -> int:
    """The mask of the language that has most of ``words`` among its stop words; English where none or several do."""
    masks = [mask for word in words if (mask := _stop_words().get(word))]
    counts = sorted((sum(1 for mask in masks if mask & bit), bit) for bit in _BITS.values())
    (second, _), (most, bit) = counts[-2:]
    return bit if most > second else ENGLISH


def languages_of(words: Iterable[str]) -> int:
    """The mask of the languages that have at least half as many of ``words`` among their stop words as any has."""
    masks = Counter(mask for word in words if (mask := _stop_words().get(word)))
    counts = {bit: sum(count for mask, count in masks.items() if mask & bit) for bit in _BITS.values()}
    return sum(bit for bit, count in counts.items() if 2 * count >= max(1, *counts.values()))


def is_stop_word(word: str, languages: int) -> bool:
    """Whether a folded word is a stop word of one of these languages."""
    return bool(_stop_words().get(word, 0) & languages)


def without_stop_words(words: Sequence[str], languages: int) -> list[str]:
    """The words that say something; all of them when none does."""
    return [word for word in words if not _stop_words().get(word, 0) & languages] or list(words)


@remembered(65_536)
def stems_of(word: str, languages: int = ALL) -> dict[str, int]:
    """The different stems of a word, each with the languages in which it is the stem; none of what has digits, of the
    shortest words, and of other scripts."""
    if not (SHORTEST_STEMMED <= len(word) <= LONGEST_STEMMED and word.isalpha()):
        return {}
    cyrillic = "а" <= word[0] <= "ӿ"
    if not cyrillic and word[0] > "ɏ":
        return {}
    found: dict[str, int] = {}
    for bit, stemmer in _stemmers():
        if bit & languages and (bit == _RUSSIAN) == cyrillic:
            stem = stemmer.stemWord(word)
            found[stem] = found.get(stem, 0) | bit
    return found
