"""The database engine of a host on SQLite (``ENGINE``): Django's, with a line in front of its one write lock."""
