"""Serve a real small model at http://127.0.0.1:8077/v1, offline, until Ctrl-C."""

import sys
import threading

from onetake.testing.local_model import available, local_model

if reason := available():
    sys.exit(f"no local model: {reason}; see README.md")
with local_model(port=8077) as model:
    print(f"{model.name} listens at {model.url}/v1", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print("stopped")
