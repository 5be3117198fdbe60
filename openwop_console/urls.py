"""Every address of the console, put together from the floors below."""

from allauth.account import views as account
from django.urls import URLPattern, include, path

from memory.host import pages as host_pages
from openwop_console import api_document, error_envelope, sign_in, views

handler400 = error_envelope.bad_request
handler403 = error_envelope.permission_denied
handler404 = error_envelope.not_found
handler500 = error_envelope.server_error

public: list[URLPattern] = [
    path(".well-known/openwop", api_document.discovered, name="discovery"),
    path("v1/openapi.json", api_document.openapi, name="api-document"),
    path("healthz", api_document.health, name="health"),
    path("readyz", api_document.readiness, name="readiness"),
    path("login", host_pages.parameters("next")(sign_in.SignIn.as_view()), name="account_login"),
    path("logout", host_pages.parameters("next")(account.logout), name="account_logout"),
]
pages: list[URLPattern] = [
    path("", views.needs_you, name="needs-you"),
    path("search", views.search, name="search"),
    path("tenants", views.tenants, name="tenants"),
    path("settings", views.settings, name="settings"),
    path("api", views.api, name="api"),
]

urlpatterns = [
    path("", include("memory.openintent.api.urls")),  # first, as every pattern before a match costs its request
    *public,
    *pages,
    path("", include("openwop_console.runtime.urls")),
    path("", include("openwop_console.runtime.api.urls")),
    path("", include("memory.urls")),
    path("", include("memory.api.urls")),
    path("", include("proposals.urls")),
    path("", include("proposals.api.urls")),
    path("", include("openwop_console.seams.urls")),
]
