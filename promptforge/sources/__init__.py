"""Sources of items: records, files, documents, man pages, techniques, searches, jobs."""
