"""Operators and keys: who is let in to which tenant, and what is taken back."""

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from memory.host import access, tenancy
from memory.host.errors import Conflict, Unauthenticated
from memory.host.models import Membership, Operator
from tests import building

pytestmark = pytest.mark.django_db
ADA = "ada@acme.example"


def sign_in(email: str = ADA, password: str = building.PASSWORD) -> Client:
    client = Client()
    assert client.post("/login", {"login": email, "password": password}).status_code == 302
    return client


def test_a_second_tenant_for_an_address_that_exists_is_a_membership_and_the_password_stays() -> None:
    acme, globex, now = building.tenant(), building.tenant("globex"), timezone.now()
    ada = building.operator(role="owner", email=ADA)
    call_command("create_operator", ADA.upper(), tenant="globex", role="viewer")
    assert (Operator.objects.count(), Membership.objects.count()) == (1, 2)
    assert Operator.objects.get().check_password(building.PASSWORD)
    there, here = (tenancy.operator_principal(ada, tenant.id) for tenant in (globex, acme))
    assert (there.tenant_slug, here.tenant_slug) == ("globex", "acme")
    assert "memory:forget" in here.scopes
    assert "memory:forget" not in there.scopes
    with pytest.raises(Conflict, match="already"):
        access.create_operator(globex, ADA, role="owner", now=now)
    with pytest.raises(Unauthenticated):
        tenancy.operator_principal(ada, building.tenant("initech").id)
