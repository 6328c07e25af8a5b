"""The live preview: a local page on which a template, a profile or a budget is changed and the prompt follows."""
