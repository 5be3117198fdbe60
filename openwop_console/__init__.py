"""The project: it composes the apps, executes runs, and is the only floor that knows them all."""

VERSION = "0.1.0"
