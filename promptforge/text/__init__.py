"""Text alone: escaping, fences, delimiters, control tokens, split points, words."""
