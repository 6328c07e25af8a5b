"""Filter, merge, group and rank candidates."""
