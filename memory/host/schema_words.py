"""What a JSON Schema asks of a value, in words."""

from jsonschema.exceptions import ValidationError


def requirement(problem: ValidationError) -> str:
    """The schema's requirement in words, without the value."""
    wanted = problem.validator_value
    sentences = {
        "required": "is required",
        "additionalProperties": "has a member that is not known here",
        "type": f"must be of type {wanted}",
        "enum": f"must be one of {', '.join(map(str, wanted))}" if problem.validator == "enum" else "",
        "pattern": "has a form that is not allowed",
        "const": f"must be {wanted!r}" if isinstance(wanted, str) else "has another value than it must",
        "oneOf": "has none, or more than one, of what it needs exactly one of",
        "anyOf": "has none of what it needs one of",
        "not": "is not offered by this host",
        "uniqueItems": "names something twice",
        "minItems": "is empty" if wanted == 1 else f"has fewer than {wanted} items",
        "minimum": f"is less than {wanted}",
        "maximum": f"is more than {wanted}",
        "maxProperties": f"has more than {wanted} members",
        "maxLength": f"is longer than {wanted} characters",
        "minLength": "is empty" if wanted == 1 else f"is shorter than {wanted} characters",
        "maxItems": f"has more than {wanted} items",
        "format": f"is not a {wanted}",
    }
    return sentences.get(str(problem.validator), f"does not satisfy {problem.validator}")
