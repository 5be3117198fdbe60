"""Seams: doors for a conformance suite, shut unless ``OPENWOP_TEST_SEAM_ENABLED`` is set (openwop-memory 2).

Behind a seam is the same code that everybody uses. A seam that is shut answers as if it were not there, after the
middleware has asked for a credential.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpResponseBase

from memory.host.errors import NotFound

View = Callable[..., HttpResponseBase]


def seam(view: View) -> View:
    """The view answers while seams are enabled, and 404 otherwise. Goes inside ``api_view``, outside nothing else."""

    @wraps(view)
    def gated(*args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.OPENWOP_TEST_SEAM_ENABLED:
            raise NotFound
        return view(*args, **kwargs)

    return gated
