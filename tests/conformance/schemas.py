"""The contract's schemas, for checking what comes over the wire."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

FOLDER = Path(__file__).parent.parent / "contracts"


@cache
def _registry() -> Registry[Any]:
    documents = [json.loads(path.read_text()) for path in FOLDER.glob("*.schema.json")]
    return Registry().with_resources([(each["$id"], Resource.from_contents(each)) for each in documents])


def check(name: str, document: Any) -> None:
    """``document`` is valid by the contract's schema ``name``."""
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    validator = Draft202012Validator(schema, registry=_registry(), format_checker=Draft202012Validator.FORMAT_CHECKER)
    validator.validate(document)


def check_payload(definition: str, payload: Any) -> None:
    """``payload`` is valid by one definition of the run event payloads."""
    schema = json.loads((FOLDER / "run-event-payloads.schema.json").read_text())
    reference = {"$ref": f"{schema['$id']}#/$defs/{definition}"}
    Draft202012Validator(reference, registry=_registry()).validate(payload)
