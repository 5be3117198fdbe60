import django.db.models.deletion
import memory.host.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0008_parts_of_packs'),
    ]

    operations = [
        migrations.CreateModel(
            name='SavedFilter',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('page', models.CharField(max_length=32)),
                ('slug', models.CharField(max_length=64)),
                ('name', models.CharField(max_length=64)),
                ('query', models.CharField(max_length=1000)),
                ('owner', models.CharField(max_length=64)),
                ('shared', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'page', 'shared'], name='host_savedfilter_page')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'page', 'owner', 'slug'), name='a_saved_filter_has_its_own_slug')],
            },
        ),
    ]
