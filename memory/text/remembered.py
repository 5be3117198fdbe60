"""What was worked out of words, which recur, is kept for the next time.

Of what is longer than words are, nothing is kept: an entry may be 64 KB without a space, and what is made of it many
times as large.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

LONGEST = 32  # characters
OfWord = TypeVar("OfWord", bound=Callable[..., Any])


def remembered(most: int) -> Callable[[OfWord], OfWord]:
    """Keep what a function has returned for the last ``most`` words, its first arguments."""

    def decorate(function: OfWord) -> OfWord:
        kept = lru_cache(maxsize=most)(function)

        @wraps(function)
        def of_word(word: str, *more: Any) -> Any:
            return kept(word, *more) if len(word) <= LONGEST else function(word, *more)

        return cast("OfWord", of_word)

    return decorate
