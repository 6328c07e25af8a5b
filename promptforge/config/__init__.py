"""Options, profiles and layouts: read, checked, settled."""
