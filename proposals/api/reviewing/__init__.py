"""The review over HTTP, as far as the closed Proposal object cannot hold it: the console's extension of the face."""
