"""Worth of candidates and passages by a query."""
