"""Golden cases of the user: items and options in, the expected text out."""
