"""What of the candidates answers the query: words, worths, pieces."""
