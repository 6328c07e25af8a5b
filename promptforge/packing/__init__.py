"""Choose what fits a budget."""
