"""What runs ask of people and of the world outside: node types, answers, tokens."""
