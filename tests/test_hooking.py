"""Which functions count as hooks of ours."""

from __future__ import annotations

from functools import wraps

from onetake import hooking


class _Client:
    def send(self):
        return "theirs"


def test_a_hook_stands_where_it_was_put_and_under_what_wraps_it():
    theirs = _Client.send

    @wraps(theirs)
    def send(self):
        return "ours, and " + theirs(self)

    assert not hooking.stands(theirs)
    hooking.put(_Client, "send", send)
    assert hooking.stands(_Client.send)
    assert _Client().send() == "ours, and theirs"

    @wraps(send)
    def instrumented(self):
        return send(self)

    assert hooking.stands(instrumented)


def test_nothing_is_no_hook_nor_is_what_others_made():
    assert not hooking.stands(None)
    assert not hooking.stands(print)
