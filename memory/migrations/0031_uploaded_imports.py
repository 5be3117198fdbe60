"""Files that people upload to be imported, in parts, and what became of their lines."""

import django.db.models.deletion
import memory.host.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0014_invitations_to_accept'),
        ('memory', '0030_tags_without_rowids'),
    ]

    operations = [
        migrations.CreateModel(
            name='UploadPart',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('upload_id', models.UUIDField()),
                ('number', models.PositiveIntegerField()),
                ('first_line', models.PositiveIntegerField()),
                ('body', models.BinaryField()),
                ('entry_ids', models.BinaryField(default=b'')),
                ('report', models.JSONField(default=dict)),
                ('refused', models.PositiveIntegerField(default=0)),
                ('reported_by', models.UUIDField(null=True)),
                ('expires_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'expires_at'], name='memory_upload_expires')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'upload_id', 'number'), name='a_part_of_an_upload_is_there_once')],
            },
        ),
    ]
