"""Work that starts by time: schedules, heartbeats and commitments."""
