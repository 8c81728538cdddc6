"""A provider that takes 200 ms for each answer; prints its address and stays until it is killed."""

from __future__ import annotations

import threading
from dataclasses import replace

from onetake.testing.provider import Provider, openai_chat

if __name__ == "__main__":
    with Provider() as running:
        running.script(lambda request: replace(openai_chat("a label"), delay=0.2))
        print(running.url, flush=True)
        threading.Event().wait()
