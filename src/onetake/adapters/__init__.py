"""Interception of HTTP clients and functions. One file per client; each patches classes once, when the client is there.

An adapter module has `MODULES`, the top-level modules it serves, and `patch(module)`, which is called once for each of
them after the program has imported it.
"""
