import errno
import multiprocessing.pool
import pickle

import pytest

from onetake import errors
from onetake.errors import (
    ChildError,
    ContractError,
    InteractionNotFound,
    NetworkRefusal,
    NotStored,
    OnetakeError,
    Refusal,
    UnreadableEntry,
)
from onetake.model import Response, Violation
from onetake.stores.sqlite_file import DamagedFileError

RESPONSE = Response(200, (("a", "b"),), b"body")
VIOLATIONS = (Violation("$.label", "a string", "7"),)
REFUSALS = [
    InteractionNotFound("no interaction", "POST https://x", "cassettes/a", "near\nby", "run it"),
    UnreadableEntry("cassettes/a/x.json", "torn", "restore it"),
    ContractError("violation", "POST https://x", VIOLATIONS, RESPONSE, ".onetake/rejects/x.json", "labels"),
    NotStored("POST https://x", "disk full", RESPONSE),
]
NETWORK = NetworkRefusal("a connection to db.example.com:5432", "psycopg", "cassettes/a", "name it\nor not")
CHILD = ChildError(".onetake/children/a/1", "a line in it is damaged")
ORDINARY = [kind("what is wrong") for kind in (errors.UsageError, errors.StoreError, errors.FormatError)]
ORDINARY += [errors.NewerFormatError("what is wrong"), errors.AdapterError("what is wrong")]
ORDINARY += [DamagedFileError("calls.db", "what is wrong", "; mend it")]
EVERY = [*REFUSALS, NETWORK, CHILD, *ORDINARY, *(refusal.as_exception() for refusal in REFUSALS)]


def every_kind(kind):
    return {kind}.union(*map(every_kind, kind.__subclasses__()))


def test_every_kind_is_tried_here():
    assert every_kind(OnetakeError) - {type(error) for error in EVERY} == {OnetakeError, Refusal}


@pytest.mark.parametrize(
    "error", [*REFUSALS, NETWORK, CHILD, *ORDINARY, *(r.as_exception() for r in REFUSALS)], ids=repr
)
def test_every_error_pickles_with_all_its_parts(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.args, str(again)) == (type(error), error.args, str(error))


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: type(refusal).__name__)
def test_a_refusal_passes_handlers_of_exception_and_its_twin_does_not(refusal):
    assert not isinstance(refusal, Exception)
    twin = refusal.as_exception()
    assert isinstance(twin, Exception)
    assert isinstance(twin, type(refusal))
    assert (twin.args, str(twin)) == (refusal.args, str(refusal))
    assert type(twin.as_exception()) is type(twin)


@pytest.mark.parametrize("error", ORDINARY, ids=lambda error: type(error).__name__)
def test_ordinary_errors_are_exceptions(error):
    assert isinstance(error, Exception)
    assert isinstance(error, OnetakeError)


def fail(number):
    raise REFUSALS[number].as_exception()


def test_a_twin_comes_back_from_a_pool_worker():
    with multiprocessing.pool.ThreadPool(1) as pool, pytest.raises(ContractError) as caught:
        pool.apply_async(fail, (2,)).get(timeout=10)
    assert caught.value.violations == VIOLATIONS


def test_a_miss_says_all_it_knows_and_leaves_out_what_it_does_not():
    assert str(REFUSALS[0]) == (
        "no interaction: POST https://x\n  looked in: cassettes/a\n  nearest: near\n    by\n  to mend it: run it"
    )
    assert str(InteractionNotFound("no interaction", "POST https://x")) == "no interaction: POST https://x"


def test_a_refused_answer_says_what_failed_and_where_it_lies():
    assert str(REFUSALS[2]) == (
        "answer refused (violation, contract labels): POST https://x\n"
        "  $.label: expected a string, found 7\n"
        "  kept aside: .onetake/rejects/x.json"
    )
    many = ContractError("violation", "POST https://x", VIOLATIONS * 12)
    assert str(many).splitlines()[-1] == "  and 2 more"
    assert (many.kind, len(many.violations), many.response) == ("violation", 12, None)


def test_an_unreadable_entry_and_an_answer_that_is_on_no_disk_say_why():
    assert str(REFUSALS[1]) == "unreadable entry: cassettes/a/x.json\n  torn\n  to mend it: restore it"
    assert str(REFUSALS[3]) == "the answer could not be stored: POST https://x\n  disk full"
    assert REFUSALS[3].response == RESPONSE


@pytest.mark.parametrize("refusal", [*REFUSALS, *(r.as_exception() for r in REFUSALS)], ids=repr)
def test_the_response_of_a_refusal_is_in_no_text_of_it(refusal):
    told = type(refusal)(*(Response(200, (), b"hidden") if part is RESPONSE else part for part in refusal.args))
    assert "hidden" not in f"{told} {told!r} {told.args[0]}"
    assert repr(told).startswith(f"{type(told).__name__}(")


def test_a_refused_connection_is_what_callers_of_sockets_expect():
    assert isinstance(NETWORK, ConnectionRefusedError)
    assert (NETWORK.errno, NETWORK.filename, NETWORK.client) == (errno.ECONNREFUSED, None, "psycopg")
    assert type(NETWORK.as_exception()) is NetworkRefusal
    assert str(NETWORK) == (
        "refused by a sealed session: a connection to db.example.com:5432, by psycopg\n"
        "  session: cassettes/a\n"
        "  to mend it: name it\n    or not"
    )
    assert str(NetworkRefusal("a", "b", "c")) == "refused by a sealed session: a, by b\n  session: c"
