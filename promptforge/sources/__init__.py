"""Where items come from: a file a source, and what they share in reading files, records and plain data."""
