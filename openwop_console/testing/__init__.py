"""What the test suite stands on: no part of the product."""
