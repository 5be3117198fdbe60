"""Types for JSON documents that a schema or serializer has checked or will check."""

from collections.abc import Mapping
from typing import Any, TypeAlias

# A JSON object; its members are defined by the document's schema.
JSONObject: TypeAlias = dict[str, Any]
# One that is only read.
JSONMapping: TypeAlias = Mapping[str, Any]
