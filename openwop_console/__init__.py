"""The project: composes the apps, executes runs, and is the only layer that depends on all of them."""

VERSION = "0.1.0"
