"""Which request is most like another one."""

from __future__ import annotations

import pytest

from onetake.upkeep.adopt.nearness import Asked, Nearness


@pytest.fixture
def asked(direct):
    """Return a function that makes a request of a prompt."""

    def make(prompt, **fields):
        return Asked(None, prompt, 0, "", "", direct.chat(prompt, **fields), {})

    return make


def anyone(_):
    return True


def test_each_finds_the_one_with_its_own_words_among_many(asked):
    prompts = [f"Label this ticket and be brief: printer {n * 7919} in room {n * 104729} burns" for n in range(120)]
    near = Nearness(map(asked, prompts))
    for prompt in prompts[::17]:
        assert near.nearest(asked(prompt.replace("be brief", "be very brief")), anyone).key == prompt


def test_without_a_shared_rare_word_the_nearest_of_all_is_found(asked):
    near = Nearness([asked("aaaa bbbb cccc dddd"), asked("1 2 3 4 5 6 7 8")])
    assert near.nearest(asked("1 2 3 4 5 6 7 9"), anyone).key == "1 2 3 4 5 6 7 8"


def test_letters_of_any_script_are_words(asked):
    near = Nearness([asked("分类这个工单 打印机"), asked("分类这个工单 键盘坏了")])
    assert near.nearest(asked("请 分类这个工单 键盘坏了"), anyone).key == "分类这个工单 键盘坏了"


def test_what_is_not_like_it_is_not_found(asked):
    near = Nearness([asked("Translate the following poem into French, keeping its metre and its rhymes as they are.")])
    assert near.nearest(asked("What is two and two?"), anyone) is None
    assert Nearness([]).nearest(asked("a"), anyone) is None


def test_only_what_fits_is_found(asked):
    near = Nearness([asked("Sort this list of birds"), asked("Sort this list of trees")])
    assert near.nearest(asked("Sort this list of birds!"), lambda one: "birds" not in one.key).key.endswith("trees")
