"""Live preview: a local web page to edit templates, profiles and budgets and watch the prompt."""
