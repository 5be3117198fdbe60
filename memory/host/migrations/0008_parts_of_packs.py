import django.db.models.deletion
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0007_checkpoints_are_kept'),
    ]

    operations = [
        migrations.AddField(
            model_name='installation',
            name='part_of',
            field=models.ForeignObject(from_fields=('tenant_id', 'part_of_id'), null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.installation', to_fields=('tenant_id', 'id')),
        ),
        migrations.AddField(
            model_name='installation',
            name='part_of_id',
            field=models.UUIDField(null=True),
        ),
        migrations.AlterField(
            model_name='installation',
            name='kind',
            field=models.CharField(choices=[('workflow', 'Workflow'), ('agent', 'Agent'), ('prompt-template', 'Prompt Template'), ('agent-pack', 'Agent Pack'), ('workflow-chain-pack', 'Chain Pack'), ('automation', 'Automation')], max_length=32),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='cron',
            field=models.CharField(blank=True, default='', max_length=256),
        ),
        migrations.AddIndex(
            model_name='installation',
            index=models.Index(condition=models.Q(('part_of_id__isnull', False)), fields=['tenant', 'part_of_id'], name='host_installation_parts'),
        ),
        migrations.AddConstraint(
            model_name='installation',
            constraint=memory.host.models.base.TenantFK(column='part_of_id', name='a_part_belongs_to_a_pack_of_its_tenant', on_delete='NO ACTION', to='host_installation'),
        ),
    ]
