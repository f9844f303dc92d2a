"""hermes-build: a declarative compiler for the tools of LLM agents."""

__version__ = "0.1.0"
