from __future__ import annotations

from dataclasses import replace

from onetake.model import Answer, Choice, KeySpec, ToolCall, Violation
from onetake.review.cleaning import cleaned, scrubbing_for
from onetake.upkeep.projects import Projects

SECRET = "sk-proj-" + "Ab3dEf6hIj" * 5


def test_nothing_that_is_shown_holds_a_secret(desk):
    call = ToolCall("send", {"token": [SECRET]})
    entry = replace(
        desk.entry(f"key {SECRET}", f"said {SECRET}"),
        answer=Answer((Choice(SECRET, (call,), SECRET, SECRET, SECRET),)),
        provenance={"test": SECRET, "deep": [{"x": SECRET}]},
        violations=(Violation("$", "no", SECRET),),
        verdict=f"kept:{SECRET}",
        extra={"more": SECRET},
        scrubbed=(SECRET,),
    )
    shown = cleaned(entry, Projects(desk.root, importing=False).of(desk.root))
    assert SECRET not in repr(shown)
    assert shown.key == entry.key
    assert shown.answer.choices[0].tool_calls[0].name == "send"


def test_an_entry_without_secrets_stays_as_it_is(desk):
    entry = desk.entry()
    assert cleaned(entry, Projects(desk.root, importing=False).of(desk.root)) == entry


def test_key_rules_that_are_none_do_no_harm(desk):
    project = Projects(desk.root, importing=False).of(desk.root)
    for headers in (None, 3, [1, "x-mine"], {"a": 1}):
        entry = desk.entry(key_spec=KeySpec("k1", "s1", {"headers": headers}))
        assert scrubbing_for(entry, project).text("plain") == "plain"
