"""Pictures of a budget: where the tokens went, what was left out, and what more of them would bring."""
