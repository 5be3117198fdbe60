"""Every address of the console, put together from the floors below."""

from allauth.account import views as account
from django.urls import include, path

from openwop_console import discovery, error_envelope

handler400 = error_envelope.bad_request
handler403 = error_envelope.permission_denied
handler404 = error_envelope.not_found
handler500 = error_envelope.server_error

urlpatterns = [
    path(".well-known/openwop", discovery.discovery, name="discovery"),
    path("healthz", discovery.health, name="health"),
    path("login", account.login, name="account_login"),
    path("logout", account.logout, name="account_logout"),
    path("", include("openwop_console.runtime.api.urls")),
    path("", include("memory.api.openwop.urls")),
]
