"""The sample: some of each stratum, always the same."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from onetake.probing.sampling import Candidate, choose


def candidate(number, model="m", **more):
    more.setdefault("path", Path(f"{number}.json"))
    return Candidate(key=f"{number:064x}", operation="chat", model=model, **more)


def test_it_is_the_same_whatever_the_order():
    entries = [candidate(number, model=f"m{number % 3}") for number in range(30)]
    chosen = choose(entries, 7)
    Random(1).shuffle(entries)
    assert choose(entries, 7) == chosen and len(set(chosen)) == 7
    assert choose(entries, 3) == chosen[:3], "a smaller one is the start of a larger one"


def test_another_seed_draws_others():
    entries = [candidate(number) for number in range(100)]
    assert choose(entries, 5, seed="a") == choose(entries, 5, seed="a") != choose(entries, 5, seed="b")


def test_a_rare_stratum_is_asked_too():
    common = [candidate(number) for number in range(100)]
    rare = [candidate(200, model="rare"), candidate(201, contract="items"), Candidate(Path("x"), "f" * 64, "messages")]
    chosen = choose(common + rare, 4)
    assert set(rare) < set(chosen)
    assert len(choose(common + rare, 1000)) == 103


def test_one_request_is_asked_once_whatever_judges_it():
    twice = [candidate(1, path=Path(f"{name}.json")) for name in "ba"]
    assert choose(twice, 5) == [twice[1]]
    common = [candidate(number) for number in range(1, 9)]
    rare = candidate(1, path=Path("r.json"), contract="items")
    for entries in ([*common, rare], [rare, *common]):
        chosen = choose(entries, 9)
        assert sorted(one.key for one in chosen) == [one.key for one in common], "each key once"
        assert rare in chosen[:2], "of the rarer contract"
        assert choose(entries, 4) == chosen[:4]
    assert choose([candidate(1), rare], 5) in ([candidate(1)], [rare])


def test_the_oldest_go_first_and_those_without_a_date_before_all():
    now = datetime(2026, 5, 1, tzinfo=UTC)
    dated = [candidate(n, model=f"m{n % 2}", recorded_at=now - timedelta(days=n)) for n in (3, 1, 4, 2)]
    naive = candidate(9, recorded_at=datetime(2026, 4, 29, 12))
    undated = candidate(7)
    chosen = choose([*dated, naive, undated], 4, oldest=True)
    assert [int(one.key, 16) for one in chosen] == [7, 4, 3, 9], "of each stratum its oldest, in turn"


def test_nothing_is_chosen_of_nothing():
    assert choose([], 5) == choose([candidate(1)], 0) == []
