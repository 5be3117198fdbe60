"""Passes and their schedules over HTTP: the console's extension of the OpenWOP face, over the nights."""
