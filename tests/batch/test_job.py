"""Job files."""

from __future__ import annotations

import pytest

from onetake.batch.job import Ask, Run, load_job
from onetake.errors import UsageError

LEAST = '[ask]\nbase_url = "http://127.0.0.1:8000/v1/"\nmodel = "m"\nprompt = "Label {message}"\n'


@pytest.fixture
def job(tmp_path):
    def write(text):
        (tmp_path / "job.toml").write_text(text, encoding="utf-8")
        return load_job(tmp_path / "job.toml")

    return write


def test_the_least_that_a_job_says(job, tmp_path):
    found = job(LEAST)
    assert found.path == tmp_path / "job.toml"
    assert found.ask == Ask("http://127.0.0.1:8000/v1", "m", "Label {message}")
    assert found.run == Run(tmp_path / "calls.db")


def test_all_that_a_job_may_say(job, tmp_path):
    (tmp_path / "label.json").write_text("{}")
    found = job(
        LEAST + 'api = "anthropic"\napi_key_env = "KEY"\nsystem = "Be brief."\nschema = "label.json"\n'
        "schema_version = 3\nstructured = true\nparams = { temperature = 0, max_tokens = 64 }\n"
        '[run]\nconcurrency = "2-16"\nrpm = 600\ntpm = 200000\nmax_cost = 5.5\nrepairs = 1\nstore = "x/s"\n'
        "timeout = 30\ndeadline = 3600\nmax_attempts = 3\nprices = { input = 0.15, output = 0 }\n"
        'label_paths = ["$.label"]\nmax_failures = "2%"\n'
    )
    assert found.ask == Ask(
        "http://127.0.0.1:8000/v1",
        "m",
        "Label {message}",
        "anthropic",
        "KEY",
        "Be brief.",
        tmp_path / "label.json",
        3,
        True,
        {"temperature": 0, "max_tokens": 64},
    )
    assert found.run == Run(
        tmp_path / "x/s",
        2,
        16,
        600.0,
        200000.0,
        5.5,
        1,
        30.0,
        3600.0,
        3,
        {"input": 0.15, "output": 0.0},
        ("$.label",),
        0.02,
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[ask", "no TOML"),
        ("[run]\n", "job.toml: lacks 'ask'"),
        ('[ask]\nmodel = "m"\n', "ask lacks 'base_url'"),
        (LEAST + "temprature = 0\n", "knows no 'temprature'"),
        (LEAST + "[asks]\n", "knows no 'asks'; did you mean 'ask'"),
        (LEAST.replace("http://127.0.0.1:8000/v1/", "localhost:8000"), "ask.base_url: must be the endpoint's address"),
        (LEAST.replace("http://", "http://user:pw@"), "ask.base_url: holds a credential"),
        (LEAST + 'params = { model = "n" }\n', "ask.params.model: the job makes this member itself"),
        (LEAST + 'schema = "none.json"\n', "none.json: cannot be read"),
        (LEAST + "structured = true\n", "there is none"),
        (LEAST + "schema_version = 0\n", "schema_version"),
        (LEAST + '[run]\nconcurrency = "8-2"\n', "run.concurrency"),
        (LEAST + "[run]\nconcurrency = true\n", "run.concurrency"),
        (LEAST + "[run]\nconcurrency = 0\n", "run.concurrency"),
        (LEAST + "[run]\nrpm = 0\n", "run.rpm: must be a number above 0"),
        (LEAST + "[run]\ntimeout = inf\n", "run.timeout"),
        (LEAST + "[run]\nprices = { input = 1 }\n", "run.prices lacks 'output'"),
        (LEAST + '[run]\nmax_failures = "101%"\n', "run.max_failures"),
        (LEAST + f'[run]\nmax_failures = "{"9" * 5000}"\n', "run.max_failures"),
        (LEAST + f"[run]\nrepairs = {'9' * 5000}\n", "no TOML"),
        (LEAST + f"[run]\nrepairs = {10**30}\n", "run.repairs: must be 1,000,000,000 at most"),
        (LEAST + f"[run]\ntpm = {10**400}\n", "run.tpm: must be a number above 0"),
        (LEAST + '[run]\nstore = "a\\u0000b"\n', "run.store: no file can be called"),
        (LEAST + "params = { a = 1979-05-27T07:32:00Z }\n", "ask.params.a: must be a value that JSON knows, not 1979"),
        (LEAST + "params = { a = { b = [1, nan] } }\n", "ask.params.a.b[1]: must be a value that JSON knows, not nan"),
        (LEAST + "params = { a = -inf }\n", "ask.params.a: must be a value that JSON knows, not -inf"),
        *(
            (LEAST.replace("127.0.0.1:8000", host), "ask.base_url: must be the endpoint's address")
            for host in ("[::1", "a:99999", "a:0", "a b", "a..b", "a" * 64 + ".b", "a\\tb", "a:b")
        ),
    ],
)
def test_what_is_wrong_is_named(job, text, why):
    with pytest.raises(UsageError) as caught:
        job(text)
    assert why in str(caught.value)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("given", [8, "8", "1 - 8"])
def test_concurrency_is_a_number_or_a_range(job, given):
    run = job(LEAST + f"[run]\nconcurrency = {given!r}\n").run
    assert (run.least, run.most) == ((1, 8) if "-" in str(given) else (8, 8))


def test_the_digest_moves_with_what_rows_depend_on_and_with_nothing_else(job, tmp_path):
    schema = tmp_path / "label.json"
    schema.write_text("{}")
    base = LEAST + 'schema = "label.json"\n'
    first = job(base).digest()
    same = [base + 'api_key_env = "KEY"\n', base + "[run]\nrpm = 5\nconcurrency = 2\nstore = 'y'\ntimeout = 5\n"]
    assert [job(text).digest() for text in same] == [first, first]
    other = [
        base.replace("Label", "label"),
        base + "schema_version = 2\n",
        base + "params = { seed = 1 }\n",
        base + "[run]\nrepairs = 1\n",
        base.replace("8000", "8001"),
    ]
    digests = [job(text).digest() for text in other]
    schema.write_text("{} ")
    digests.append(job(base).digest())
    assert len({first, *digests}) == 1 + len(digests)
