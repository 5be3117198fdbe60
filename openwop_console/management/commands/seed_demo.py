"""``manage.py seed_demo``: the demo's tenants, their operators, and what their agents have been doing."""

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from openwop_console.demo import seeding, story
from openwop_console.demo.seeding import RunStalled
from openwop_console.management.base import DatabaseCommand, refusals_as_errors


class Command(DatabaseCommand):
    help = "Fill the demo tenants by executing workflows. What exists already stays as it is."

    def handle(self, *args: object, **options: object) -> None:
        folder = settings.OPENWOP_DATA_DIR
        if settings.IN_PRODUCTION:
            raise CommandError("The demo has owners whose passwords are printed: it is not made in production.")
        try:
            with refusals_as_errors():
                seeded = seeding.seed(story.stories(), folder, clock=timezone.now)
        except RunStalled as stalled:
            raise CommandError(f"The demo is not complete: {stalled}.") from None
        counted = ", ".join(f"{noun} {count}" for noun, count in seeded.made.items() if count)
        self.stdout.write(f"Demo made: {counted}." if seeded.changed else "Demo: complete, nothing was changed.")
        text = story.write_login_file(folder, seeded.logins)
        if options["verbosity"]:
            self.stdout.write(text)
