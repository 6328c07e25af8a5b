"""One object for each syntax of a text: markdown, xml, json, yaml, toon, plain."""
