"""What the serializers of every face share: bodies and queries are closed."""

from typing import Any

from rest_framework import serializers


class Closed(serializers.Serializer[Any]):
    """Refuses keys it does not declare, with the name of each, and a body that is no object."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            raise serializers.ValidationError({name[:100]: ["is not a field of this request"] for name in unknown})
        return super().to_internal_value(data)


class Text(serializers.CharField):
    """A JSON string as it was sent, white space and all; a number is none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


def checked(serializer: type[Closed], data: Any) -> Any:
    """The serializer over ``data`` after it was found valid; refuses otherwise."""
    filled = serializer(data=data)
    filled.is_valid(raise_exception=True)
    return filled


def query_of(request: Any) -> dict[str, str]:
    """The query parameters of a request, the last value of each."""
    return {name: request.query_params[name] for name in request.query_params}
