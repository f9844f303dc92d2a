"""What `delegate_task` and `execute_code` do: tools whose work is to use the other tools.

Both are given the session of the call, and hand on a session that is narrower: nothing that they
start has more than the one who asked.
"""
