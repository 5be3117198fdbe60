"""Pass_schedules."""

WRITER = "memory.pass_schedules"
