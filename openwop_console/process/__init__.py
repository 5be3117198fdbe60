"""The console's processes: the supervisor and its children, the web server, and what they hold on this machine."""
