"""Languages: the stop words and the stems of those that have a Snowball stemmer here. Pure; on words in search form.

Nothing says in which language an entry is. So a word is indexed as it stands, with its stem in every language of its
script, and a query takes the stems of its own language: the one of most of its stop words.
"""

# ruff: noqa: RUF001 (Russian)

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import Stemmer

SHORTEST, LONGEST = 3, 32
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


def without_stop_words(words: Sequence[str], languages: int) -> list[str]:
    """The words that say something; all of them when none does."""
    return [word for word in words if not _stop_words().get(word, 0) & languages] or list(words)


@lru_cache(maxsize=65_536)
def stems_of(word: str, languages: int = ALL) -> dict[str, int]:
    """The different stems of a word, each with the languages in which it is the stem; none of what has digits, of the
    shortest words, and of other scripts."""
    if not (SHORTEST <= len(word) <= LONGEST and word.isalpha()):
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
