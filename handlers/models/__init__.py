"""What the tools that speak to a model do: one endpoint, images, and errors that say what to do."""
