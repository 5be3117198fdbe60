from django.db import migrations, models


class Migration(migrations.Migration):
    """The column is added as SQL: Django would write SQLite's table anew, without the triggers that keep its rows."""

    dependencies = [
        ('host', '0015_who_has_joined'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE host_auditrecord ADD COLUMN request_id varchar(64) DEFAULT '' NOT NULL",
                    "ALTER TABLE host_auditrecord DROP COLUMN request_id",
                ),
            ],
            state_operations=[
                migrations.AddField(
                    model_name='auditrecord',
                    name='request_id',
                    field=models.CharField(blank=True, db_default='', default='', max_length=64),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name='auditrecord',
            index=models.Index(fields=['tenant', 'request_id', 'occurred_at', 'seq'], name='host_audit_of_request'),
        ),
    ]
