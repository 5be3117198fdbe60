"""The console's processes: the supervisor and its children, the web server, and their files on this machine."""
