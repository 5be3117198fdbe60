"""The stores of this app that keep personal text, and how a forget finds and removes it there."""
