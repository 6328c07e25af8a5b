"""Templates: loading, the language, escaping by itself, limits of work, and failures."""
