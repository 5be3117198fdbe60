"""Synthesis over HTTP: asked for, and watched; the console's extension of the face."""
