"""Programs that use compiled tools: an agent, and a model that answers from a script."""
