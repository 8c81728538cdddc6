"""Interception of HTTP clients and functions. One file per client; each patches classes, when the client is there.

An adapter module has `patch(module)`, which is called with the client's module after the program has imported it, and
again whenever a session opens: where its hooks stand it does nothing. It may have `rival(module)`, which names another
tool that answers for the client just now.
"""
