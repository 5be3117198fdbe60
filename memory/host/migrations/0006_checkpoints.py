

import django.db.models.deletion
import memory.host.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0005_time'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditCheckpoint',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('at_seq', models.BigIntegerField()),
                ('merkle_root', models.CharField(max_length=64)),
                ('frontier', models.JSONField(default=list)),
                ('signature', models.CharField(max_length=128)),
                ('key_id', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'at_seq'), name='a_number_is_checkpointed_once')],
            },
        ),
        migrations.AddIndex(
            model_name='auditrecord',
            index=models.Index(fields=['tenant', 'action', 'actor', 'occurred_at'], name='host_audit_action'),
        ),
    ]
