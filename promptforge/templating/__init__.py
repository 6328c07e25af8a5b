"""The template language: what it may say, the escape of each place, its fuel, and errors that show their line."""
