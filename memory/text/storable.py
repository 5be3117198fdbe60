"""Which texts every database can store, by the characters that they may not hold."""

import re

# A NUL, which PostgreSQL refuses, and half a surrogate pair, which has no form in UTF-8.
UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")
# In what a person reads as text: no control character but line ends and tabs. In a label, which is one line: none.
UNSTORABLE_IN_TEXT = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ud800-\\udfff]")
UNSTORABLE_IN_LABEL = re.compile("[\\x00-\\x1f\\ud800-\\udfff]")
# In JSON: an escape that may be half a surrogate pair.
ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
