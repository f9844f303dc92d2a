"""What `terminal` and `process` do, apart from their registration: commands, and those that stay.

A command runs in a session and a process group of its own, so that all of it can be ended. What a
command leaves behind in its group is ended with it, after a short time to finish: a program that is
to outlive its command is started in the background, where it can be seen and ended, or makes itself
a session of its own, as a proper daemon does.
"""
