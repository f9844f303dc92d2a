"""Specs in, a tree of generated files out."""
