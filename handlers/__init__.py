"""The reference handlers: ordinary code that registers itself into the compiled registry.

Each module here is a thin registration; what a tool does lives in functions below, in a package
for each kind of tool.
"""
