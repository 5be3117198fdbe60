"""The database engine of a host on SQLite (``ENGINE``): Django's, with a queue for its one write lock."""
