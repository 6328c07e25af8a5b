"""Tokenizers: shipped tables, files of the user's, families of LLMs, estimates."""
