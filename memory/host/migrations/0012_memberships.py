import django.db.models.deletion
import memory.host.ids
from django.conf import settings
from django.db import migrations, models


def join_own_tenants(apps, schema_editor):
    """Every operator is a member of the one tenant that they had, active as they were."""
    Operator, Membership = apps.get_model("host", "Operator"), apps.get_model("host", "Membership")
    for operator in Operator.objects.all().iterator():
        Membership(
            tenant_id=operator.tenant_id,
            operator_id=operator.id,
            is_active=operator.is_active,
            created_at=operator.created_at,
        ).save(force_insert=True)


class Migration(migrations.Migration):
    dependencies = [
        ('host', '0011_links_begin_indexes'),
    ]

    operations = [
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('is_active', models.BooleanField(default=True)),
                ('generation', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('operator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'operator'), name='a_person_is_a_member_once')],
            },
        ),
        migrations.RunPython(join_own_tenants, migrations.RunPython.noop),
    ]
