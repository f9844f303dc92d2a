"""Bundles: the tools of a program in one file, in which what was reviewed is what runs."""
