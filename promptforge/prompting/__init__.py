"""The whole prompt: system text, instructions, context, history and question in one window."""
