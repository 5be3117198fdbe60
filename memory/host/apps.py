from django.apps import AppConfig


class HostConfig(AppConfig):
    name = "memory.host"
    label = "host"
    verbose_name = "Host"

    def ready(self) -> None:
        """Every 1000th record of an audit chain is followed by a checkpoint; a run that has ended asks nobody."""
        from memory.host import audit, checkpoints, interrupts, runs

        audit.on_append(checkpoints.follow)
        runs.on_end(interrupts.run_has_ended)
