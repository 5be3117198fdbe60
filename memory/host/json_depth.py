"""How deeply JSON is nested, counted before it is parsed; apart from ``bodies``, which needs the REST framework."""

import re

MAX_DEPTH = 64
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def depth_of(text: str) -> int:
    """How deep the brackets of ``text`` are nested, whether it is JSON or not; linear, and without recursion."""
    deepest = depth = 0
    for token in TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        deepest = max(deepest, depth)
    return deepest
