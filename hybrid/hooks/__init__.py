"""Called by the agents: one module reads their events, one writes the answer, `direct` answers without a service.

Standard library only, but for `direct`, which is imported when an answer is needed and no service runs.
"""
