"""The user's own golden cases: items and options in, what the text must be out."""
