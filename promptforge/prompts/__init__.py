"""The whole prompt: messages, history, providers, window."""
