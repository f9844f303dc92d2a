"""Findings as text: one printer for each format."""

from hermes_build.compiler.report.printers import Sources, as_json, concise, full, summary

__all__ = ["Sources", "as_json", "concise", "full", "summary"]
