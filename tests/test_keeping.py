import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from hashlib import sha256

import pytest

from onetake.cassette import Cassette
from onetake.contract import Contract
from onetake.errors import ContractError, NotStored, StoreError, UnreadableEntry
from onetake.model import Cut, Mode, Repeats, Response
from onetake.stores.directory import DirectoryStore
from onetake.stores.memory import MemoryStore

LABEL = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
LABELS = Contract(LABEL, name="labels")
SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2
CUT = Response(200, (("content-type", "application/json"),), b'{"half', cut=Cut.PROVIDER)


def refused(talk, request, response):
    with pytest.raises(ContractError) as caught:
        talk.call(request, response)
    return caught.value


def test_br_113_a_reject_is_kept_aside_with_its_violations_and_the_next_answer_is_recorded(direct):
    talk = direct(contracts=(LABELS,))
    error = refused(talk, "q", '{"label": 7}')
    assert talk.entries() == []
    (reject,) = talk.entries(talk.rejects)
    assert (reject.verdict, [v.path for v in reject.violations]) == ("reject:violation", ["$.label"])
    assert reject.answer.choices[0].text == '{"label": 7}'
    assert (error.kind, error.violations, error.args[5]) == ("violation", reject.violations, "labels")
    assert error.response.body == reject.response.body
    assert talk.rejects.locate(reject.key, 0) in str(error)
    talk.call("q", '{"label": "bug"}')
    assert [entry.ordinal for entry in talk.entries()] == [0]


def test_rejects_of_one_request_lie_side_by_side_and_none_is_replayed(direct):
    talk = direct(contracts=(LABELS,))
    for number in range(3):
        refused(talk, "q", f'{{"label": {number}}}')
    assert [reject.ordinal for reject in talk.entries(talk.rejects)] == [0, 1, 2]
    talk.call("q", '{"label": "live"}')
    assert [entry.verdict for entry in talk.engine.recorded] == ["good"]


def test_a_reject_that_a_hand_moved_into_the_cassette_is_never_replayed(direct):
    talk = direct(contracts=(LABELS,))
    refused(talk, "q", '{"label": 7}')
    for mode in ("none", "once", "new_episodes"):
        with pytest.raises(BaseException, match="it is a reject"):
            direct(talk.rejects, mode).ask("q")


@pytest.mark.parametrize(
    ("kind", "response", "told"),
    [
        ("length", ("{", {"finish": "length"}), ["token limit (max_tokens", 'keep=["length"]']),
        (
            "refusal",
            (None, {"refusal": "I cannot help\nwith that."}),
            ['said: "I cannot help⏎with that."', "the prompt"],
        ),
        ("refusal", ("No.", {"finish": "content_filter"}), ['the model said: "No."', 'keep=["refusal"]']),
        ("violation", ("It is a bug.", {}), ['found text that begins "It is a bug."', 'keep=["violation"]']),
        ("cut", CUT, ["broke off", 'keep=["cut"]']),
        ("json", Response(200, CUT.headers, b"<html>"), ['found text that begins "<html>"', "kept aside, and ask"]),
    ],
)
def test_a_refused_answer_says_what_mends_it(direct, kind, response, told):
    talk = direct(contracts=(LABELS,))
    error = refused(talk, "q", response if isinstance(response, Response) else direct.said(response[0], **response[1]))
    assert error.kind == kind
    assert [text for text in (*told, "\n  to mend it: ") if text not in str(error)] == []
    assert ("keep=" in str(error)) == (kind != "json")


def test_what_a_refusal_quotes_is_scrubbed(direct):
    error = refused(direct(contracts=(LABELS,)), "q", direct.said(None, refusal=f"I will not use {SECRET}!"))
    assert 'the model said: "I will not use [openai key 1]!"' in str(error)
    assert SECRET[8:20] not in str(error) + repr(error)


def test_on_reject_pass_gives_the_answer_and_says_so(direct, capsys):
    talk = direct(contracts=(LABELS,), on_reject="pass")
    assert talk.call("q", '{"label": 7}') == '{"label": 7}'
    assert talk.ledger.all == ()
    assert "answer refused (violation, contract labels)" in capsys.readouterr().err
    assert (len(talk.entries()), len(talk.entries(talk.rejects))) == (0, 1)


def test_where_the_client_raises_its_own_error_a_reject_does_not(direct):
    talk = direct()
    step = talk.ask("q")
    assert talk.engine.commit(talk.engine.judge(step, CUT), raising=False) is CUT
    assert [reject.verdict for reject in talk.entries(talk.rejects)] == ["reject:cut"]
    assert talk.ledger.all == ()


def test_a_kept_answer_is_replayed_only_where_that_kind_is_kept(direct):
    kinds = {
        "violation": '{"label": 7}',
        "length": direct.said('{"la', finish="length"),
        "refusal": direct.said(None, refusal="no"),
        "cut": CUT,
        "status:429": Response(429, (("content-type", "application/json"),), b'{"error": "slow down"}'),
    }
    for kind, response in kinds.items():
        talk = direct(contracts=(LABELS,), keep=(kind,))
        came = talk.answer(talk.ask("q"), response)
        assert [entry.verdict for entry in talk.entries()] == [f"kept:{kind}"]
        assert direct(talk.store, "none", contracts=(LABELS,), keep=(kind,)).ask("q").response.body == came.body
        for mode in ("none", "once", "new_episodes"):
            with pytest.raises(BaseException, match=f"it was kept as '{kind}', and this session does not keep that"):
                direct(talk.store, mode, contracts=(LABELS,)).ask("q")
        assert direct(talk.store, "all", contracts=(LABELS,)).call("q", '{"label": "new"}') == '{"label": "new"}'
        assert [entry.verdict for entry in talk.entries()] == ["good"]


def test_a_kept_status_is_replayed_where_its_hundred_is_kept(direct):
    talk = direct(keep=("status:429",))
    talk.answer(talk.ask("q"), Response(429))
    assert direct(talk.store, "none", keep=("status:4xx",)).ask("q").response.status == 429
    with pytest.raises(BaseException, match="status:429"):
        direct(talk.store, "none", keep=("status:5xx",)).ask("q")


def test_a_stream_that_was_left_is_kept_and_not_judged(direct):
    talk = direct(contracts=(LABELS,))
    left = Response(200, (("content-type", "text/event-stream"),), b"data: {}\n\n", cut=Cut.LEFT)
    talk.answer(talk.ask("q"), left)
    (entry,) = talk.entries()
    assert (entry.verdict, entry.contract, entry.unjudged) == ("left:10", None, False)
    assert direct(talk.store, "none", contracts=(LABELS,)).ask("q").response == left


def test_a_stream_that_was_left_is_as_long_as_what_is_stored_of_it(direct):
    talk = direct()
    data = f'data: {{"note": "{SECRET}"}}\n\n'.encode()
    talk.answer(talk.ask("q"), Response(200, (("content-type", "text/event-stream"),), data, cut=Cut.LEFT))
    (entry,) = talk.entries()
    assert entry.response.body == b'data: {"note": "[openai key 1]"}\n\n'
    assert entry.verdict == f"left:{len(entry.response.body)}"
    assert direct(talk.store, "none").ask("q").response == entry.response


def test_what_the_person_who_records_should_know_is_said(direct, capsys):
    direct().call("q", direct.said("half", finish="length"))
    assert "the stored answer was cut by the token limit: POST https://api.openai.com" in capsys.readouterr().err


@pytest.mark.parametrize("contracts", [(), (LABELS,)], ids=["a good answer", "a reject"])
def test_what_holds_a_secret_that_cannot_be_scrubbed_keeps_its_digest_and_not_its_text(direct, contracts, capsys):
    talk = direct(contracts=contracts, test=f"test_x.py::test_key[{SECRET}]")
    error = refused(talk, "the question", "the answer")
    assert (error.kind, error.response.body) == ("secret", b"")
    assert "to mend it: take it out of what is asked" in str(error)
    assert talk.entries() == []
    (reject,) = talk.entries(talk.rejects)
    assert (reject.verdict, reject.request.body, reject.response.body) == ("reject:secret", b"", b"")
    assert {violation.expected for violation in reject.violations} == {"no secret"}
    digest = sha256(direct.said("the answer").body).hexdigest()
    assert any(digest in violation.found for violation in reject.violations)
    stored = talk.rejects.get(reject.key, 0)
    for text in (stored.decode(), str(error), capsys.readouterr().err):
        assert SECRET[8:20] not in text
        assert "the answer" not in text
    assert b"the question" not in stored


class Full(MemoryStore):
    """A store on a full disk."""

    def add(self, key, ordinal, data, label=""):
        raise StoreError(f"{self.place}: cannot be written: No space left on device")


def test_an_answer_that_cannot_be_written_is_not_asked_for_again(direct):
    talk = direct(Full())
    with pytest.raises(NotStored, match="No space left on device") as caught:
        talk.call("q", "paid")
    assert not isinstance(caught.value, Exception)
    assert caught.value.response == direct.said("paid")
    assert talk.ledger.open == (caught.value,)


def test_where_the_client_raises_its_own_error_the_full_disk_is_still_in_the_ledger(direct):
    talk = direct(rejects=Full())
    step = talk.ask("q")
    talk.engine.commit(talk.engine.judge(step, CUT), raising=False)
    assert [type(line) for line in talk.ledger.open] == [NotStored]


def test_a_contract_whose_own_code_breaks_on_an_answer_is_no_error_that_an_sdk_would_retry(direct):
    talk = direct(contracts=(Contract({}, name="c", on=lambda request: 1 / 0),))
    step = talk.ask("q")
    with pytest.raises(NotStored, match="ZeroDivisionError") as caught:
        talk.answer(step, "paid")
    assert caught.value.response == direct.said("paid")
    assert talk.ledger.open == (caught.value,)
    assert talk.ask("q").ordinal == 0


def test_what_a_broken_contract_quotes_is_scrubbed(direct):
    def selects(request):
        raise ValueError(f"what is {SECRET}?")

    talk = direct(contracts=(Contract({}, name="c", on=selects),))
    with pytest.raises(NotStored, match=r"what is \[openai key 1\]") as caught:
        talk.call("q", f"the answer is {SECRET}")
    assert SECRET[8:20] not in str(caught.value) + repr(caught.value)
    assert SECRET.encode() in caught.value.response.body


def test_where_the_client_raises_its_own_error_a_broken_contract_is_still_in_the_ledger(direct):
    talk = direct(contracts=(Contract({}, name="c", on=lambda request: 1 / 0),))
    judged = talk.engine.judge(talk.ask("q"), direct.said("paid"))
    assert talk.ledger.all == ()
    assert talk.engine.commit(judged, raising=False) == direct.said("paid")
    assert [type(line) for line in talk.ledger.open] == [NotStored]


def test_a_marker_that_cannot_be_written_is_no_error_that_an_sdk_would_retry(direct):
    def mark():
        raise PermissionError("read-only")

    with pytest.raises(NotStored, match="read-only"):
        direct(on_record=mark).call("q", "paid")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root and Windows write into read-only folders")
def test_a_read_only_folder(direct, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(NotStored):
            direct(DirectoryStore(tmp_path / "cassette")).call("q", "paid")
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_cannot_be_listed_is_told_before_anything_is_asked(direct, tmp_path):
    (tmp_path / "cassette").write_text("in the way")
    talk = direct(MemoryStore())
    talk.engine.cassette.store = DirectoryStore(tmp_path / "cassette")
    with pytest.raises(UnreadableEntry, match="cannot be listed"):
        talk.ask("q")
    assert len(talk.ledger.open) == 1


def test_new_episodes_replaces_what_is_stale_in_its_place(direct):
    old = Contract(LABEL, name="labels")
    new = Contract(LABEL, name="labels", schema_version=2)
    talk = direct(contracts=(old,))
    for text in "ab":
        talk.call("q", f'{{"label": "{text}"}}')
    again = direct(talk.store, "new_episodes", contracts=(new,))
    assert [again.call("q", f'{{"label": "{text}"}}') for text in "xy"] == ['{"label": "x"}', '{"label": "y"}']
    assert [(entry.ordinal, entry.contract.schema_version) for entry in talk.entries()] == [(0, 2), (1, 2)]
    replaying = direct(talk.store, "none", contracts=(new,))
    assert [replaying.call("q") for _ in "xy"] == ['{"label": "x"}', '{"label": "y"}']


def test_the_schema_lies_beside_the_entry_once(direct):
    talk = direct(contracts=(LABELS,))
    for prompt in "ab":
        talk.call(prompt, '{"label": "bug"}')
    assert list(talk.store.side_names()) == [f"_schemas/{LABELS.digest}.json"]
    assert json.loads(talk.store.get_side(f"_schemas/{LABELS.digest}.json")) == LABELS.schema


def test_of_two_sessions_that_write_one_ordinal_the_loser_takes_the_next(direct):
    store = MemoryStore()
    first, second = direct(store), direct(store)
    one, two = first.ask("q"), second.ask("q")
    first.answer(one, "first"), second.answer(two, "second")
    assert second.call("q", "third") == "third"
    assert [entry.ordinal for entry in first.entries()] == [0, 1, 2]
    replaying = direct(store, "none")
    assert [replaying.call("q") for _ in range(3)] == ["first", "second", "third"]


def test_of_two_sessions_that_share_answers_the_loser_gets_the_winners(direct):
    store = MemoryStore()
    first, second = direct(store, repeats="same"), direct(store, repeats="same")
    one, two = first.ask("q"), second.ask("q")
    first.answer(one, "first")
    assert second.answer(two, "second").body == direct.said("first").body
    assert second.call("q") == "first"
    assert (len(first.entries()), second.engine.recorded) == (1, [])


_PROCESS = """
import sys
from pathlib import Path
from onetake.cassette import Cassette
from onetake.engine import Engine
from onetake.ledger import Ledger
from onetake.model import Mode, Repeats, Request, Response
from onetake.steps import Flow, Policy
from onetake.stores.directory import DirectoryStore
from onetake.stores.memory import MemoryStore

folder, word, repeats = Path(sys.argv[1]), sys.argv[2], Repeats(sys.argv[3])
engine = Engine(Policy(mode=Mode.NEW_EPISODES, root=folder, repeats=repeats), Cassette(DirectoryStore(folder / "c")),
    Cassette(MemoryStore()), Ledger(), being_made=lambda: True, on_record=lambda: None, elsewhere=lambda key: [])
step = engine.begin(Request("POST", "https://api.example/ask", (), b"q"), Flow(1), "test")
print("ready", flush=True)
sys.stdin.readline()
got = engine.commit(engine.judge(step, Response(200, (("content-type", "text/plain"),), word.encode())))
print(got.body.decode(), flush=True)
"""


@pytest.mark.parametrize("repeats", ["sequence", "same"])
def test_two_processes_that_write_one_ordinal(tmp_path, repeats):
    command = [sys.executable, "-c", _PROCESS, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([*command, word, repeats], **pipes) for word in ("left", "right")]
    try:
        assert [process.stdout.readline().strip() for process in both] == ["ready", "ready"]
        for process in both:
            process.stdin.write("go\n")
            process.stdin.flush()
        got = [process.communicate(timeout=60)[0].strip() for process in both]
    finally:
        for process in both:
            process.kill()
    stored = [entry.response.body.decode() for _, _, entry in Cassette(DirectoryStore(tmp_path / "c")).all()]
    if repeats == "same":
        assert got[0] == got[1] == stored[0]
        assert len(stored) == 1
    else:
        assert got == ["left", "right"]
        assert sorted(stored) == ["left", "right"]


def test_many_threads_that_record_one_request_lose_no_answer(direct):
    talk = direct(mode=Mode.NEW_EPISODES, repeats=Repeats.SEQUENCE)
    start = threading.Barrier(8)

    def record(number):
        start.wait()
        talk.answer(talk.ask("q", number), f"answer {number}")

    workers = [threading.Thread(target=record, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [entry.ordinal for entry in talk.entries()] == list(range(8))
    replaying = direct(talk.store, "none")
    assert sorted(replaying.call("q") for _ in range(8)) == [f"answer {number}" for number in range(8)]


def test_an_error_status_writes_nothing(direct):
    talk = direct(contracts=(LABELS,))
    response = replace(direct.said("x"), status=500)
    assert talk.answer(talk.ask("q"), response) is response
    assert (talk.entries(), talk.entries(talk.rejects), talk.ledger.all) == ([], [], ())
