"""Check templates, layouts and profiles."""
