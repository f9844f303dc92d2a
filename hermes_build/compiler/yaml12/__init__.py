"""YAML 1.2, core schema: its texts read to JSON values, and JSON values written as such texts."""
