"""Help for authors of templates and profiles."""
