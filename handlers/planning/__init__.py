"""What the planning tools do: a task list, a memory that lasts, a question to the person."""
