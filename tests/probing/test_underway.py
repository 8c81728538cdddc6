"""A probe under way: what ends one of its entries loses no answer that is paid for, and nothing is asked in vain."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onetake.cassette_files import read_entry
from onetake.errors import StoreError, UsageError
from onetake.exits import Exit
from onetake.key import Keyer
from onetake.probing.asking import Asker, Terms
from onetake.probing.report import InterruptedProbe, Outcome, Selection
from onetake.probing.running import Wanted, probe, run
from onetake.probing.sending import send
from onetake.stores.directory import DirectoryStore
from onetake.testing.provider import openai_chat, openai_error
from onetake.upkeep.probed import ProbeBook
from onetake.writing import write

SCHEMA = {"type": "object", "properties": {"n": {}}, "required": ["n"]}


@pytest.fixture
def drifting(chats, provider):
    """Three entries whose answers are now of another type: their files."""
    provider.script(lambda request: openai_chat('{"n": 1}', model="m-1"))
    paths = chats("one", "two", "three")
    provider.script(lambda request: openai_chat('{"n": "1"}', model="m-1"))
    return paths


def stopping(at):
    """Return what sends as ever until the call of that number, at which Ctrl-C is pressed."""
    calls = iter(range(1, 100))

    def sends(*sent):
        if next(calls) == at:
            raise KeyboardInterrupt
        return send(*sent)

    return Asker(sends=sends)


def test_what_was_asked_before_ctrl_c_is_told_and_noted(chats, drifting):
    with pytest.raises(InterruptedProbe) as stopped:
        run(chats.root, Wanted(), asker=stopping(at=2))
    report = stopped.value.report
    assert [report.outcome(case) for case in report.cases] == [Outcome.DRIFTED, Outcome.UNASKED, Outcome.UNASKED]
    assert [case.came.why for case in report.cases[1:]] == [
        "the probe was interrupted while it was asked",
        "the probe was interrupted before its turn",
    ]
    assert {"sampled": 3, "drifted": 1, "unasked": 2, "exit": 3}.items() <= ProbeBook(chats.root).last.items()


def test_the_first_of_two_answers_is_compared_though_the_second_is_interrupted(chats, drifting):
    with pytest.raises(InterruptedProbe) as stopped:
        run(chats.root, Wanted(Selection(5, repeat=2)), asker=stopping(at=2))
    report = stopped.value.report
    assert [report.outcome(case) for case in report.cases] == [Outcome.DRIFTED, Outcome.UNASKED, Outcome.UNASKED]


def test_the_first_of_two_answers_is_compared_though_no_second_comes(chats, drifting, provider):
    count = provider.count
    provider.script(
        lambda request: openai_chat('{"n": "1"}', model="m-1") if request.number % 2 != count % 2 else openai_error(429)
    )
    report = run(chats.root, Wanted(Selection(5, repeat=2)), asker=Asker())
    assert (report.count(Outcome.DRIFTED), report.exit_code, provider.count) == (3, Exit.DRIFT, count + 6)


def test_a_budget_that_ends_between_two_answers_keeps_the_first(chats, drifting, monkeypatch):
    pytest.importorskip("genai_prices")
    monkeypatch.setattr("onetake.prices.cost_of", lambda entry: 0.6)
    monkeypatch.setattr("onetake.prices.window_of", lambda entry: 10)
    report = run(chats.root, Wanted(Selection(5, repeat=2)), asker=Asker(Terms(max_cost=1)))
    assert (report.count(Outcome.DRIFTED), report.count(Outcome.UNASKED)) == (1, 2)


@pytest.mark.parametrize(
    ("meanwhile", "outcome", "why"),
    [
        (lambda path: path.unlink(), Outcome.FAILED, "it is gone"),
        (lambda path: path.write_bytes(b"{"), Outcome.FAILED, "torn: "),
        (
            lambda path: path.write_bytes(path.read_bytes().replace(b"http://127", b"http://128")),
            Outcome.UNASKABLE,
            "does not give the stored key",
        ),
    ],
    ids=["gone", "broken", "changed"],
)
def test_an_entry_that_is_not_as_it_was_by_its_turn_costs_no_other_answer(
    chats, drifting, provider, meanwhile, outcome, why
):
    order = [chats.root / case.entry for case in probe().cases]

    def answer(request):
        if provider.count == count + 1:
            meanwhile(order[1])
        return openai_chat('{"n": "1"}', model="m-1")

    count = provider.count
    provider.script(answer)
    report = probe()
    found = {chats.root / case.entry: case for case in report.cases}
    assert report.outcome(found[order[1]]) is outcome
    assert why in found[order[1]].came.why
    assert str(chats.root) not in found[order[1]].came.why
    assert [report.outcome(found[path]) for path in (order[0], order[2])] == [Outcome.DRIFTED] * 2
    assert provider.count == count + 2


def test_what_breaks_on_one_entry_costs_no_other_answer(chats, drifting, monkeypatch):
    from onetake.probing import underway

    true = underway.compare

    def breaking(entry, *given, **more):
        if b"two" in entry.request.body:
            raise LookupError("of a fault here")
        return true(entry, *given, **more)

    monkeypatch.setattr(underway, "compare", breaking)
    report = probe()
    assert (report.count(Outcome.DRIFTED), report.count(Outcome.FAILED)) == (2, 1)
    (why,) = (case.came.why for case in report.cases if report.outcome(case) is Outcome.FAILED)
    assert why == "it cannot be compared (LookupError: of a fault here)"


def test_where_the_note_cannot_be_written_nothing_is_asked(chats, drifting, provider):
    count = provider.count
    (chats.root / ".onetake/probed.json").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"probed\.json: cannot be written"):
        probe()
    assert provider.count == count


def test_where_the_note_cannot_be_written_any_more_the_report_says_so(chats, drifting, provider):
    def answer(request):
        (chats.root / ".onetake/probed.json").mkdir(parents=True, exist_ok=True)
        return openai_chat('{"n": "1"}', model="m-1")

    provider.script(answer)
    report = probe()
    assert (report.count(Outcome.DRIFTED), "probed.json: cannot be written" in report.unnoted) == (3, True)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[contracts.items]\nschema = "none.json"\n', r"none\.json"),
        ('[contracts.items]\nschema = "items.json"\nlabel_paths = ["label"]\n', "label_paths"),
        ('[contracts.items]\nschema = "items.json"\nwatch = ["none.py"]\n', r"none\.py"),
    ],
)
def test_wrong_settings_are_said_before_anything_is_asked(chats, drifting, provider, settings, said):
    (chats.root / "items.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    chats.settings('[contracts.items]\nschema = "items.json"\n')
    chats("judged", contract="items")
    chats.settings(settings)
    count = provider.count
    with pytest.raises(UsageError, match=said):
        probe()
    assert provider.count == count


@pytest.mark.parametrize(
    "stray",
    [
        ("X-Forwarded-Host", "evil.example"),
        ("Host", "evil.example"),
        ("Content-Length ", "3"),
        ("x-amzn-bedrock-trace ", "on"),
        ("content-type", "application/json\r\n x: y"),
    ],
)
def test_an_entry_with_a_header_that_no_recorder_writes_is_not_asked(chats, provider, stray):
    first, second = chats("one", "two")
    entry = read_entry(first)
    request = replace(entry.request, headers=(*entry.request.headers, stray))
    other = replace(entry, request=request, key=Keyer().key(request))
    first.unlink()
    assert write(DirectoryStore(first.parent), other, {}, over=False)
    count = provider.count
    report = probe()
    assert provider.count == count + 1
    (unaskable,) = (case for case in report.cases if report.outcome(case) is Outcome.UNASKABLE)
    assert f"a header that no recorded one has: {stray[0]!r}" in unaskable.came.why
    assert unaskable.entry != second.relative_to(chats.root).as_posix()


def test_a_header_that_counts_in_its_key_goes_along(chats, provider):
    chats.settings('[key]\nheaders = ["x-tenant"]\n')
    (path,) = chats("one")
    entry = read_entry(path)
    request = replace(entry.request, headers=(*entry.request.headers, ("x-tenant", "a"), ("anthropic-beta", "b")))
    keyer, _ = Keyer.from_spec(entry.key_spec.rules)
    path.unlink()
    assert write(DirectoryStore(path.parent), replace(entry, request=request, key=keyer.key(request)), {}, over=False)
    assert probe().count(Outcome.UNASKABLE) == 0
    assert [provider.requests[-1].header(name) for name in ("x-tenant", "anthropic-beta")] == ["a", "b"]
