"""From a resolved catalog to the text of generated files."""
