"""Kinds of tokenizers: tables of byte pairs, files of the user's, families of LLMs, estimates; `tokens` is the door."""
