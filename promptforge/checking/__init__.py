"""Reading templates, layouts and profiles before anything is rendered: what is wrong with them, and what they cost."""
