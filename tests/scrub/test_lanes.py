"""Secrets split over the documents of a body, and named ones."""

import json

import pytest

from onetake.jsonpath import parse
from onetake.scrub.finder import Finder
from onetake.scrub.lanes import Search, document, edits, whole, without_secrets

KEY = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"


def rewritten(*texts, search=None):
    """Replace each secret by its kind in brackets, in every text."""
    search = search or Search(Finder())
    at, documents = 0, []
    for text in texts:
        documents.append(document(text, range(at, at + len(text) + 1), search))
        at += len(text)
    joined, out, last = "".join(texts), [], 0
    for edit in edits(documents, search.finder):
        out += [joined[last : edit.start], f"<{edit.hit.kind}>" if edit.hit else ""]
        last = edit.end
    return "".join(out) + joined[last:]


def delta(text, index=0):
    return json.dumps({"choices": [{"index": index, "delta": {"content": text}}]})


@pytest.mark.parametrize("cut", [1, 3, 8, 20, len(KEY) - 1])
def test_a_secret_split_over_two_deltas(cut):
    assert rewritten(delta("my " + KEY[:cut]), delta(KEY[cut:] + " ok")) == delta("my <openai key>") + delta(" ok")


def test_a_secret_split_into_single_characters():
    texts = [delta(char) for char in f"a {KEY}."]
    empty = delta("") * (len(KEY) - 1)
    assert rewritten(*texts) == delta("a") + delta(" ") + delta("<openai key>") + empty + delta(".")


def test_choices_that_take_turns_are_kept_apart():
    texts = [delta("sk-proj-Ab1Cd2", 0), delta("other", 1), delta("Ef3Gh4Ij5Kl6Mn", 0), delta(" words", 1)]
    assert rewritten(*texts) == delta("<openai key>") + delta("other", 1) + delta("") + delta(" words", 1)


def test_urls_that_come_whole_do_not_run_together():
    signed = [json.dumps({"url": f"https://b.example/?sig=abcdEFGH0123{n}"}) for n in (1, 2)]
    assert rewritten(*signed) == json.dumps({"url": "https://b.example/?sig=<signed url>"}) * 2


def test_ids_that_come_with_every_event_do_not_run_together():
    same = json.dumps({"id": "gsk_0123456789"})
    assert rewritten(same, same) == same + same


def test_escapes_around_a_split_secret_keep_their_spelling():
    first, second = r'{"t": "é\u00e9\n' + KEY[:9] + '"}', '{"t": "' + KEY[9:] + r'\"\u00e9"}'
    assert rewritten(first, second) == r'{"t": "é\u00e9\n<openai key>"}{"t": "\"\u00e9"}'


def test_plain_text_events_are_joined_too():
    assert rewritten("say " + KEY[:9], KEY[9:] + " now") == "say <openai key> now"


def test_a_named_secret_keeps_its_scheme():
    text = '{"mcp_servers": [{"headers": {"Authorization": "Bearer abc"}}]}'
    assert rewritten(text) == text.replace("abc", "<secret>")


def test_a_named_secret_that_is_a_placeholder_stays():
    text = '{"api_key": "[secret 3]", "headers": {"Authorization": "Bearer [secret 1]"}, "password": ""}'
    assert rewritten(text) == text


def test_broken_json_still_has_names():
    text = '{"usage": 1, "access_token": "abc def", "refresh_token": "gh'
    assert rewritten(text) == '{"usage": 1, "access_token": "<secret>", "refresh_token": "gh'.replace(
        '"gh', '"<secret>'
    )


def test_declared_numbers():
    search = Search(Finder(), [parse("$.pin")])
    assert rewritten('{"pin": 1234, "n": 1234}', search=search) == '{"pin": <secret>, "n": 1234}'


def test_the_name_of_a_place_holds_no_secret():
    assert without_secrets(f'$.users["{KEY}"].x', Finder()) == '$.users["[openai key]"].x'
    found = edits([document(json.dumps({KEY: {"api_key": "v"}}), range(99), Search(Finder()))], Finder())
    assert [edit.where for edit in found] == ["$.[openai key]", "$.[openai key].api_key"]


def test_a_whole_secret_has_the_kind_of_its_shape():
    assert whole(KEY, Finder()).kind == "openai key"
    assert whole(f"{KEY} and more", Finder()).kind == "secret"
