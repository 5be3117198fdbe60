"""How much a test tries: little in ``make test``, much in ``make test-all``."""

import os

THOROUGH = bool(os.environ.get("OPENWOP_TEST_THOROUGH"))


def examples(number: int) -> int:
    """As many examples of a property in a thorough run, a quarter of them in a quick one."""
    return number if THOROUGH else max(number // 4, 3)
