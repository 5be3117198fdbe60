"""Addresses that an earlier release stored with another form of their domain get the one that they are looked up by.

Of accounts that are one address then, the one that has the form already keeps it, or else the oldest gets it. The others
stay as they are, sign in as they were written, and are named in the log: a person decides which to deactivate.
"""

import logging
from typing import Any

from django.db import migrations

log = logging.getLogger(__name__)


def store_forms(apps: Any, schema_editor: Any) -> None:
    from memory.host.access import email_form  # the one form, which also signs people in

    operators = apps.get_model("host", "Operator").objects
    forms = {row: (email, email_form(email)) for row, email in operators.order_by("id").values_list("id", "email")}
    taken = {email: row for row, (email, form) in forms.items() if email == form}
    for row, (email, form) in forms.items():
        first = taken.setdefault(form, row)
        if first != row:
            log.warning("the accounts usr_%s and usr_%s are one address; both stay as they are", first.hex, row.hex)
        elif email != form and len(form) <= operators.model._meta.get_field("email").max_length:
            operators.filter(id=row).update(email=form)


class Migration(migrations.Migration):
    dependencies = [("host", "0012_sessions_by_person")]
    operations = [migrations.RunPython(store_forms, migrations.RunPython.noop)]
