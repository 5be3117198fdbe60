"""The types of JSON as it is passed about: documents that a schema or a serializer has checked, or will."""

from typing import Any, TypeAlias

# A JSON object: what its members are, the document's own schema says.
JSONObject: TypeAlias = dict[str, Any]
