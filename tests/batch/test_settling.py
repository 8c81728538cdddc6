"""What became of attempts, as the table has it; the rest is in the tests of the ledger."""

from __future__ import annotations

from decimal import Decimal

import pytest

from onetake.batch.attempts import NOTHING, Spent
from onetake.batch.settling import columns


@pytest.mark.parametrize(
    ("spent", "row"),
    [
        (NOTHING, (None, None, None)),
        (Spent(3, 0, Decimal("0.000001")), (3, 0, 1_000_000)),
        (Spent(2**63 - 1, 2**63, Decimal(10_000_000)), (2**63 - 1, None, None)),
        (Spent(10**400, -(10**400), Decimal("1e300")), (None, None, None)),
    ],
)
def test_what_no_column_holds_is_not_known(spent, row):
    assert columns(spent) == row
