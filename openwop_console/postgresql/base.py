"""Django's engine for PostgreSQL, with the numbers of JSON as they were given."""

import json
from typing import Any

from django.db.backends.postgresql import base, operations
from psycopg.types.json import Jsonb

from memory.host.json_types import without_exponents


class DatabaseOperations(operations.DatabaseOperations):
    def adapt_json_value(self, value: Any, encoder: type[json.JSONEncoder] | None) -> Any:
        return Jsonb(value, dumps=lambda document: without_exponents(json.dumps(document, cls=encoder)))


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations
