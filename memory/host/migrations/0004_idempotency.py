

import django.db.models.deletion
import memory.host.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0003_run_control'),
    ]

    operations = [
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('principal', models.CharField(max_length=64)),
                ('endpoint', models.CharField(max_length=500)),
                ('key_sha256', models.CharField(max_length=64)),
                ('body_digest', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('completed', 'Completed')], default='pending', max_length=9)),
                ('holder', models.CharField(max_length=64)),
                ('lease_until', models.DateTimeField()),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('headers', models.JSONField(default=dict)),
                ('body', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'created_at'], name='host_idempotency_age')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'principal', 'endpoint', 'key_sha256'), name='a_principal_uses_a_key_once_an_endpoint')],
            },
        ),
    ]
