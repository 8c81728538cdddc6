# List the recipes.
default:
    @just --list

# Run the tests; arguments go to pytest.
test *arguments:
    scripts/test {{arguments}}

# Run the property tests with all their examples, at random (minutes); every other run takes a fixed slice.
sweep *arguments:
    ONETAKE_SWEEP=whole scripts/test --timeout=0 tests/properties tests/stores/test_naming.py {{arguments}}

# Run the tests and say which lines none of them runs.
coverage *arguments:
    scripts/test --cov --cov-report=term:skip-covered {{arguments}}

# Run the offline demo.
demo:
    scripts/demo

# Run all that must be green; --whole leaves nothing out (an hour).
ci *arguments:
    .ci/run {{arguments}}

# Look for faults without running tests.
lint:
    .venv/bin/ruff check
    .venv/bin/ruff format --check
    .venv/bin/mypy
    .venv/bin/lint-imports

# Put the source into its standard shape.
format:
    .venv/bin/ruff check --fix
    .venv/bin/ruff format

# Write constraints.txt and the pins of the other SDK environments anew (docs/decisions/0001-constraints-instead-of-a-lock-file.md).
constraints:
    #!/usr/bin/env bash
    set -euo pipefail
    pin() { .venv/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --no-header --no-annotate --quiet "$@"; }
    pin --upgrade --group dev --group demo --group model --group bench --group sdks --all-extras --output-file constraints.txt
    for name in openai-2 anthropic-1 instructor niquests; do
        pin --upgrade --group "sdks-$name" --output-file "tests/sdks/pins/$name.txt"
    done
    rm -f tests/sdks/pins/oldest.txt  # its versions would be kept
    pin --resolution lowest-direct --group sdks --output-file tests/sdks/pins/oldest.txt

# Check every way into every SDK at the pinned versions; --oldest, --newest, --write.
matrix *arguments:
    scripts/matrix {{arguments}}
