"""What time starts: schedules that become runs, heartbeats and what they look at."""
