"""Every seam, one line each. ``/v1/host/sample/proposals`` is product, not a seam, and stands in ``proposals``."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
