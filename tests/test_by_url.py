from dataclasses import replace
from itertools import product

import pytest

from onetake.by_url import DEFAULT, compared, place, target
from onetake.errors import InteractionNotFound
from onetake.format import dump_entry
from onetake.key import Keyer
from onetake.model import Request
from onetake.settings import KeyRules
from onetake.steps import Live

URL = "https://api.openai.com/v1/chat/completions"
URLS = (
    *("https://h", "https://h/", "https://h?", "https://h/?b=", "https://h:443", "https://h:0/", "https://h:8443/"),
    *("http://h/", "http://h:80/", "http://h:443/", "https://H/", "HTTPS://h/", "https://u:p@h/", "https://h/#f"),
    *("https://h/v1", "https://h/V1", "https://h/v1/", "https://h/%761", "https://h/v1;x=1", "https://h/v1;x=2"),
    *("https://h/v1?a=1&b=2", "https://h/v1?b=2&a=1", "https://h/v1?a=1&b=2&c=", "https://h/v1?a=1&b=2&c"),
    *("https://h/v1?a=1&a=2", "https://h/v1?a=2&a=1", "https://h/v1?a=1", "https://h/v1?A=1", "https://h/v1?a=1&a=1"),
    *("https://h/v1?a=%20x", "https://h/v1?a=+x", "https://h/v1?a=%ff", "https://h/v1?a=%fe", "https://h/v1?a=1;b=2"),
    *("https://[::1]/v1", "https://[::1]:443/v1", "ws://h/v1", "ws://h:80/v1", "https://h:/v1"),
)


def test_two_requests_are_one_where_they_are_to_vcrpys_own_matchers():
    matchers, requests = pytest.importorskip("vcr.matchers"), pytest.importorskip("vcr.request")
    for name in (*DEFAULT[1:], "uri"):
        of = {url: requests.Request("GET", url, b"", {}) for url in URLS}
        for one, other in product(URLS, repeat=2):
            theirs = matchers.requests_match(of[one], of[other], [getattr(matchers, name)])
            assert theirs == (compared(one)[name] == compared(other)[name]), (name, one, other)
    assert place("GET", URLS[0]) == place("GET", URLS[1]) != place("POST", URLS[1])


def test_what_an_entry_may_answer_goes_by_the_same_but_for_credentials_and_the_words_of_origins():
    found = {url: target(Request("GET", url), Keyer()) for url in URLS if url[:2] != "ws" and ":0/" not in url}
    for one, other in product(found, repeat=2):
        assert (found[one] == found[other]) == (place("GET", one) == place("GET", other)), (one, other)
    keyer = Keyer(KeyRules(origins={"https://a.example": "w", "https://b.example": "w"}))
    asked = [f"https://{host}.example/x?api_key={secret}&n=1" for host, secret in ("a1", "b2", "c1")]
    one, same, other = (target(Request("GET", url), keyer) for url in asked)
    assert one == same != other


@pytest.mark.parametrize("url", ["https://[h/v1", "https://h:x/v1", "https://h:99999/"])
def test_what_is_no_url_is_like_itself_alone(url):
    assert place("GET", url) != place("GET", url + "a")


@pytest.fixture
def loose(direct):
    """Two answers whose questions were not recorded, and one whose question was."""
    recording = direct()
    for number in range(2):
        recording.call(Request("POST", URL), f"loose {number}")
    for position, entry in enumerate(recording.engine.recorded):
        came = {"imported_from": {"path": "a.yaml", "position": position}}
        recording.store.replace(
            entry.key, entry.ordinal, dump_entry(replace(entry, provenance=came, extra={"loose": True}))[0]
        )
    recording.call("known", "to known")
    return recording.store


@pytest.mark.parametrize("mode", ["none", "once"])
def test_a_loose_entry_answers_where_a_request_would_be_refused_and_it_is_said_each_time(direct, loose, mode):
    replaying = direct(loose, mode, being_made=False)
    assert replaying.call("known") == "to known"
    assert replaying.ledger.notes == ()
    assert [replaying.call(text) for text in ("what", "ever")] == ["loose 0", "loose 1"]
    assert [note.partition(" was answered by method and URL alone")[0] for note in replaying.ledger.notes] == [
        f'loose: POST {URL} (gpt-5, 1 message, "{text}")' for text in ("what", "ever")
    ]
    with pytest.raises(InteractionNotFound):
        replaying.ask("more")


def test_the_same_question_gets_the_next_one(direct, loose):
    replaying = direct(loose, "none")
    assert [replaying.call("again") for _ in range(2)] == ["loose 0", "loose 1"]
    with pytest.raises(InteractionNotFound):
        replaying.ask("again")


def test_same_gives_the_first_to_everyone(direct, loose):
    replaying = direct(loose, "none", repeats="same")
    assert [replaying.call(text) for text in ("one", "two", "one")] == ["loose 0"] * 3


def test_another_url_or_method_is_a_miss(direct, loose):
    replaying = direct(loose, "none")
    for asked in (direct.chat("x", url=URL + "/more"), replace(direct.chat("x"), method="PUT")):
        with pytest.raises(InteractionNotFound):
            replaying.ask(asked)


@pytest.mark.parametrize("mode", ["new_episodes", "all"])
def test_a_mode_that_records_asks_and_leaves_them_as_they_are(direct, loose, mode):
    before = {name: loose.get(*name) for name in loose.names()}
    recording = direct(loose, mode)
    assert isinstance(recording.ask("what"), Live)
    assert {name: loose.get(*name) for name in before} == before


def test_legacy_plays_them_in_recorded_order_and_says_so_and_they_do_not_differ(direct, loose):
    replaying = direct(loose, "none", match="legacy")
    assert [replaying.call(text) for text in ("a", "b")] == ["loose 0", "loose 1"]
    assert len(replaying.ledger.notes) == 2
    assert not replaying.ledger.differing


def test_its_own_request_without_a_body_is_said_too(direct, loose):
    replaying = direct(loose, "none")
    assert replaying.call(Request("POST", URL)) == "loose 0"
    assert len(replaying.ledger.notes) == 1
    assert replaying.call("x") == "loose 1"


def test_what_they_answer_counts_as_used(direct, loose):
    replaying = direct(loose, "none")
    replaying.call("x")
    assert set(replaying.engine.played) <= replaying.engine.asked
