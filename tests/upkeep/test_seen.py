"""What is kept in mind of a file goes from one process to another, whole."""

from __future__ import annotations

import pickle

from onetake.upkeep.examining import Examination


def test_what_was_seen_of_a_folder_can_be_told(folder, answer):
    good, torn = folder.record(("a", answer), ("b", answer))
    key = folder.load(good).key
    torn.write_bytes(b"{")
    folder.rewrite(good, model_asked="gpt-5", model_served="gpt-5-x")
    folders = list(Examination(folder.root, importing=False).run())
    told = pickle.loads(pickle.dumps(folders))
    (one,) = (seen for seen in told if seen.is_cassette)
    assert [(each.path, each.key[:16], each.size) for each in one.files] == [
        (good, key[:16], good.stat().st_size),
        (torn, torn.stem.split("-")[-1], 1),
    ]
    assert [each.code for each in one.files[1].findings] == ["broken"]
    assert [[(each.path, each.message, each.mend) for each in seen.findings] for seen in told] == [
        [(each.path, each.message, each.mend) for each in seen.findings] for seen in folders
    ]
