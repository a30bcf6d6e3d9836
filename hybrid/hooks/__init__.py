"""Called by the agents: one module reads their events, one writes the answer, `taking` answers without a service.

Standard library only, but for `taking`, which is imported when an answer is needed and no service runs.
"""
