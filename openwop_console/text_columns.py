"""Columns with text that hold no data about people, each with the reason: what a forget does not look through.

The other columns with text are looked through by erasers (their ``covers``); ``tests/architecture/test_erasure.py``
compares both with the models and with the database's own catalog.
"""

PRINCIPAL = "the id of an operator or key"
DIGEST = "a digest"
STATE = "one of the host's own states"
NODE = "an id of the workflow's definition, which is counted under installed artifacts"
CODE = "one of the host's own codes"
HOLDER = "the id of a worker process"
KIND = "one of the host's own kinds"
TIME = "a cron expression, a duration or a time zone"
ROLES = "names of roles and scopes"

# By table, then by column.
FREE: dict[str, dict[str, str]] = {
    "account_emailconfirmation": {
        "key": "a random token; no confirmation is sent by this host",
    },
    "auth_group": {
        "name": "Django's own names of permissions, models and migrations",
    },
    "auth_permission": {
        "codename": "Django's own names of permissions, models and migrations",
        "name": "Django's own names of permissions, models and migrations",
    },
    "console_cache": {
        "cache_key": "digests and ids of tenants: the audit chain, the worker's heartbeat",
        "value": "times and counts: the audit chain, the worker's heartbeat",
    },
    "django_content_type": {
        "app_label": "Django's own names of permissions, models and migrations",
        "model": "Django's own names of permissions, models and migrations",
    },
    "django_migrations": {
        "app": "Django's own names of permissions, models and migrations",
        "name": "Django's own names of permissions, models and migrations",
    },
    "django_q_ormq": {
        "key": "the name of the queue",
        "payload": "the name of a function and ids of rows, signed; gone with the task",
    },
    "django_q_schedule": {
        "args": "the host's own schedules, of functions without arguments that name people",
        "cluster": "the host's own schedules, of functions without arguments that name people",
        "cron": "the host's own schedules, of functions without arguments that name people",
        "func": "the host's own schedules, of functions without arguments that name people",
        "hook": "the host's own schedules, of functions without arguments that name people",
        "intended_date_kwarg": "the host's own schedules, of functions without arguments that name people",
        "kwargs": "the host's own schedules, of functions without arguments that name people",
        "name": "the host's own schedules, of functions without arguments that name people",
        "schedule_type": "the host's own schedules, of functions without arguments that name people",
        "task": "the host's own schedules, of functions without arguments that name people",
    },
    "django_q_task": {
        "cluster": "names of functions and queues, and random names",
        "func": "names of functions and queues, and random names",
        "group": "names of functions and queues, and random names",
        "hook": "names of functions and queues, and random names",
        "id": "names of functions and queues, and random names",
        "name": "names of functions and queues, and random names",
    },
    "django_session": {
        "session_data": "the operator's id, a digest of the password's hash, sentences of the console; for 12 hours",
        "session_key": "a random token",
    },
    "host_apikey": {
        "digest": DIGEST,
        "made_by": PRINCIPAL,
    },
    "host_auditchain": {
        "head_hash": DIGEST,
    },
    "host_auditcheckpoint": {
        "key_id": "the id of a key",
        "merkle_root": DIGEST,
        "signature": "a signature",
    },
    "host_auditrecord": {
        "action": KIND,
        "actor": PRINCIPAL,
        "entry_hash": DIGEST,
        "prev_hash": DIGEST,
    },
    "host_definition": {
        "sha256": DIGEST,
    },
    "host_heartbeat": {
        "holder": HOLDER,
        "last_code": CODE,
        "last_status": STATE,
        "principal": PRINCIPAL,
    },
    "host_idempotencyrecord": {
        "body_digest": DIGEST,
        "holder": HOLDER,
        "key_sha256": DIGEST,
        "principal": PRINCIPAL,
        "state": STATE,
    },
    "host_installation": {
        "installed_by": PRINCIPAL,
        "disabled_by": PRINCIPAL,
        "kind": KIND,
        "name": "a part of the text, which is counted",
        "ref": "the name and version in the text, which is counted",
        "sha256": DIGEST,
        "source": "the id of a proposal, or host",
        "version": "the version in the text, which is counted",
    },
    "host_interrupt": {
        "key": "the node's id, or that of an activation gate",
        "kind": KIND,
        "node_id": NODE,
        "outcome": STATE,
    },
    "host_interruptvote": {
        "action": KIND,
        "principal": PRINCIPAL,
    },
    "host_operator": {
        "password": "a slow hash",
    },
    "host_resolution": {
        "node_id": NODE,
    },
    "host_rolegrant": {
        "principal": PRINCIPAL,
        "role": ROLES,
    },
    "host_run": {
        "cancelled_by": PRINCIPAL,
        "current_node": NODE,
        "fork_mode": KIND,
        "holder": HOLDER,
        "principal": PRINCIPAL,
        "status": STATE,
        "workflow_id": NODE,
    },
    "host_runevent": {
        "type": KIND,
    },
    "host_savedfilter": {
        "owner": PRINCIPAL,
        "page": "the name of a page",
    },
    "host_schedule": {
        "cron": TIME,
        "kind": KIND,
        "missed": KIND,
        "principal": PRINCIPAL,
        "timezone": TIME,
    },
    "host_scheduletick": {
        "code": CODE,
    },
    "host_secret": {
        "scope": KIND,
        "sealed": "a credential, sealed; it is replaced or removed, and no more read than shown",
    },
    "host_throttle": {
        "key": DIGEST,
    },
    "host_vaultkey": {
        "wrapped": "a key, wrapped",
    },
    "memory_archive": {
        "distiller": "the name of a method",
        "sha256": DIGEST,
        "sources_sha256": DIGEST,
        "state": STATE,
        "tokenizer": "the name of a tokenizer",
        "trigger": KIND,
        "withdrawn_because": CODE,
    },
    "memory_commitment": {
        "condition": KIND,
        "last_code": CODE,
        "repeats": TIME,
        "state": STATE,
        "timezone": TIME,
    },
    "memory_commitmentwatch": {
        "holder": HOLDER,
    },
    "memory_distillate": {
        "request_sha256": DIGEST,
    },
    "memory_entryaddress": {
        "sensitivity": STATE,
        "tier": STATE,
        "ttl": TIME,
    },
    "memory_firing": {
        "code": CODE,
        "occasion": "an instant or a number",
    },
    "memory_forgetrequest": {
        "found": "ids of entries and a position of the ledger, as bytes",
        "plan": "counts, digests, a few ids of rows, and the host's own sentences",
        "plan_sha256": DIGEST,
        "receipt": "ids, counts and the host's own sentences",
        "requested_by": PRINCIPAL,
        "sealed_terms": "the subject, sealed, for as long as the work needs it",
        "signature": "a signature",
        "state": STATE,
        "subject_key": "a keyed digest, which outlives the subject",
        "term_keys": "keyed digests, which outlive the subject",
    },
    "memory_grant": {
        "permission": "a right",
    },
    "memory_keptcontent": {
        "sha256": DIGEST,
    },
    "memory_keptread": {
        "contents": "digests of kept texts",
        "node_id": NODE,
        "request_sha256": DIGEST,
    },
    "memory_lineage": {
        "kind": KIND,
    },
    "memory_memoryentry": {
        "derived": STATE,
        "ephemeral": "the id of a host process",
        "node_id": NODE,
        "retired_kind": STATE,
        "sha256": DIGEST,
    },
    "memory_memorypolicy": {
        "distiller": "the name of a method",
        "timezone": TIME,
        "written_by": PRINCIPAL,
    },
    "memory_namespace": {
        "default": "a right",
    },
    "memory_pass": {
        "code": CODE,
        "holder": HOLDER,
        "kind": KIND,
        "requested_by": PRINCIPAL,
        "state": STATE,
        "trigger": KIND,
        "window": "an instant, or the id of a request",
    },
    "memory_passschedule": {
        "cron": TIME,
        "kind": KIND,
        "timezone": TIME,
        "written_by": PRINCIPAL,
    },
    "memory_reconciled": {
        "method": "the name of a method",
    },
    "memory_suspect": {
        "decision": STATE,
        "store": "the name of a store, of the host's own",
    },
    "memory_task": {
        "status": STATE,
    },
    "memory_tombstone": {
        "reason": CODE,
    },
    "memory_workspacefile": {
        "etag": DIGEST,
        "updated_by": PRINCIPAL,
    },
    "proposals_approvalpolicy": {
        "asked_by": PRINCIPAL,
        "confirmed_by": PRINCIPAL,
        "eligible_roles": ROLES,
        "kind": KIND,
        "override_roles": ROLES,
    },
    "proposals_comment": {
        "author": PRINCIPAL,
    },
    "proposals_gate": {
        "eligible_roles": ROLES,
        "node_id": NODE,
        "opened_by": PRINCIPAL,
        "override_roles": ROLES,
        "required_scope": ROLES,
        "sha256": DIGEST,
        "state": STATE,
    },
    "proposals_policychange": {
        "asked_by": PRINCIPAL,
        "decided_by": PRINCIPAL,
        "kind": KIND,
        "state": STATE,
        "wanted": "roles, numbers and durations",
    },
    "proposals_proposal": {
        "author": PRINCIPAL,
        "closed_by": PRINCIPAL,
        "contributors": "ids of operators and keys",
        "kind": KIND,
        "last_reviser": PRINCIPAL,
        "pattern": DIGEST,
        "purpose": KIND,
        "source_run_ids": "ids of runs",
        "state": STATE,
    },
    "proposals_revision": {
        "canonical_sha256": DIGEST,
        "revised_by": PRINCIPAL,
        "sha256": DIGEST,
        "structure": DIGEST,
    },
    "proposals_vote": {
        "decision": STATE,
        "person": PRINCIPAL,
        "principal": PRINCIPAL,
        "roles": ROLES,
        "sha256": DIGEST,
    },
    "runtime_step": {
        "node_id": NODE,
        "state": STATE,
    },
}
