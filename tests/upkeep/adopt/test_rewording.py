"""The words that changed from one text to another."""

from __future__ import annotations

import pytest

from onetake.upkeep.adopt.rewording import NoFitError, pieces, reworded


def test_an_edit_fits_other_texts_with_the_same_words():
    found = list(pieces("Label this tickt: the printer burns", "Label this ticket: the printer burns"))
    assert found == [("tickt", "ticket")]
    assert reworded("Label this tickt: no paper", found) == "Label this ticket: no paper"
    for other in ("Label this: no paper", "tickt or tickt", "tickts"):
        with pytest.raises(NoFitError):
            reworded(other, found)


def test_an_insertion_takes_a_neighbour_along_and_several_edits_are_several_pieces():
    found = list(pieces("Be brief. X. Answer.", "Be very brief. X. Please answer."))
    assert len(found) > 1
    assert reworded("Be brief. Y Z. Answer.", found) == "Be very brief. Y Z. Please answer."


def test_a_word_that_stands_often_is_changed_with_its_neighbours():
    old = "the cat and the dog and the cow"
    found = list(pieces(old, old.replace("the dog", "a dog")))
    assert reworded(old, found) == "the cat and a dog and the cow"
