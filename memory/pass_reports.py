"""pass_reports."""
