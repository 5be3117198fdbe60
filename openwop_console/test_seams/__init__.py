"""Seams: entry points for a conformance suite, closed unless ``OPENWOP_TEST_SEAM_ENABLED`` is set (openwop-memory 2).

A seam calls the same code as every other caller. A closed seam answers 404, once the middleware has checked the
credential.
"""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.http import HttpResponseBase

from memory.host.errors import NotFound

View = Callable[..., HttpResponseBase]


def seam(view: View) -> View:
    """Answer 404 unless seams are enabled. Goes inside ``api_view``, outside nothing else."""

    @wraps(view)
    def gated(*args: object, **kwargs: object) -> HttpResponseBase:
        if not settings.OPENWOP_TEST_SEAM_ENABLED:
            raise NotFound
        return view(*args, **kwargs)

    return gated
