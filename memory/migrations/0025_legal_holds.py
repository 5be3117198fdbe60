"""Legal holds: subjects that are not forgotten."""

import django.db.models.deletion
import memory.host.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0011_reasons_beside_the_audit'),
        ('memory', '0022_reads_of_entries'),
    ]

    operations = [
        migrations.CreateModel(
            name='ForgetHold',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('terms', models.JSONField(default=list)),
                ('reason', models.CharField(max_length=500)),
                ('set_by', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField()),
                ('end_reason', models.CharField(blank=True, default='', max_length=500)),
                ('ended_by', models.CharField(blank=True, default='', max_length=64)),
                ('ended_at', models.DateTimeField(null=True)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['tenant', 'id'], name='memory_hold_active')],
            },
        ),
    ]
