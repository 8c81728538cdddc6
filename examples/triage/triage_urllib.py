"""Label each line of a log with nothing but Python: python triage_urllib.py LOG > labels.jsonl"""

import json
import os
import sys
from pathlib import Path
from urllib.request import Request, urlopen

SCHEMA = json.loads(Path(__file__).with_name("label.schema.json").read_bytes())
URL = os.environ.get("TRIAGE_URL", "http://127.0.0.1:8077/v1") + "/chat/completions"


def label(line):
    body = {
        "model": "smollm2-135m",
        "messages": [{"role": "user", "content": f"What is this log line about, and is it ok? {line}"}],
        "temperature": 0,
        "max_tokens": 60,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "label_schema", "schema": SCHEMA, "strict": True},
        },
    }
    with urlopen(Request(URL, json.dumps(body).encode(), {"content-type": "application/json"})) as said:
        return json.loads(json.load(said)["choices"][0]["message"]["content"])


for number, line in enumerate(Path(sys.argv[1]).read_text("utf-8").splitlines(), 1):
    print(json.dumps({"line": number, "answer": label(line)}), flush=True)
