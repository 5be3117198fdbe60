"""What an endpoint of a face says about itself in ``/v1/openapi.json``: one decorator above the view.

The document is generated from the URL configuration, these words and the serializers; a view without them fails a test.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers

View = TypeVar("View", bound=Callable[..., Any])
Serializer = type[serializers.Serializer[Any]]


def operation(
    name: str,
    *,
    scope: str | None,
    gives: Mapping[int, Any],
    takes: Serializer | Mapping[str, Any] | None = None,
    query: Serializer | None = None,
    headers: tuple[str, ...] = (),
    method: str | None = None,
    tag: str = "",
) -> Callable[[View], View]:
    """The view answers as ``name`` (camelCase, unique): ``scope`` is the permission it needs, None when it is public.

    ``takes`` is the serializer or JSON Schema of its body, ``query`` the serializer of its query, ``headers`` what it
    reads beside the credential. ``gives`` maps each status to a JSON Schema, a serializer, or None for an empty body;
    refusals need not be named, the generator adds the envelope. A view of several methods names each with ``method``.
    """
    parameters: list[Any] = [
        *([query] if query else []),
        *(OpenApiParameter(h, str, OpenApiParameter.HEADER) for h in headers),
    ]
    return extend_schema(
        operation_id=name,
        request=takes,
        responses=dict(gives),
        parameters=parameters,
        methods=[method] if method else None,
        tags=[tag] if tag else None,
        auth=[] if scope is None else None,
        extensions={"x-required-scope": scope} if scope else None,
    )
