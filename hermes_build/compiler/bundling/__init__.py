"""From a project to a bundle of the tools that somebody wants, and of all that these need."""
