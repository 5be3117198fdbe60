"""Which pass runs when: plain data, tasks by dotted name.

One row of django-q2's own schedule table is ours, and a tenant never writes there (one row whose arguments do not parse
would stop them all).
"""

from dataclasses import dataclass

from django_q.models import Schedule

from memory.host import checkpoints


@dataclass(frozen=True, slots=True)
class Recurring:
    """A task of the host itself, every so many minutes."""

    name: str
    task: str
    minutes: int


HOST = (
    Recurring("sweep", "memory.tasks.sweep", 1),
    Recurring("scrub", "memory.tasks.scrub", 1),
    Recurring("coordinators", "memory.tasks.lapse_coordinators", 1),
    Recurring("merged", "memory.tasks.sweep_merged", 60),
    Recurring("archives", "memory.tasks.collect_archives", 60),
    Recurring("previews", "memory.tasks.lapse_previews", 15),
    Recurring("words", "memory.tasks.index_words", 1),
    Recurring("answers", "memory.tasks.sweep_answers", 60),
    # A tenant is looked at once a day (UTC), as soon as its runs have left something since the last look.
    Recurring("synthesis", "proposals.tasks.order_syntheses", 60),
    Recurring("checkpoints", "memory.tasks.checkpoint_audit", checkpoints.EVERY_SECONDS // 60),
)


def install() -> None:
    """The schedule table holds exactly the rows of ``HOST``."""
    Schedule.objects.exclude(name__in=[each.name for each in HOST]).delete()
    for each in HOST:
        Schedule.objects.update_or_create(
            name=each.name,
            defaults={"func": each.task, "schedule_type": Schedule.MINUTES, "minutes": each.minutes, "repeats": -1},
        )
