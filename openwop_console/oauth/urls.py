"""The addresses of OAuth, at the paths that the metadata names."""

from django.urls import path

from openwop_console.oauth import views

urlpatterns = [
    path(".well-known/oauth-protected-resource", views.protected_resource, name="oauth-resource"),
    path(".well-known/oauth-protected-resource/mcp", views.mcp_resource, name="oauth-resource-mcp"),
    path(".well-known/oauth-authorization-server", views.authorization_server, name="oauth-server"),
    path("oauth/authorize", views.authorize, name="oauth-authorize"),
    path("oauth/token", views.token, name="oauth-token"),
    path("oauth/register", views.register, name="oauth-register"),
    path("oauth/revoke", views.revoke, name="oauth-revoke"),
]
