"""The records of an input."""

from __future__ import annotations

import csv
import io
import itertools
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.batch.records import Form, Record, Tally, form_of, read
from onetake.errors import UsageError


def records(data, form=Form.JSONL):
    return [(one.line, one.offset, one.data, one.why) for one in read(io.BytesIO(data), form)]


def test_each_line_is_a_record_the_bad_ones_too():
    data = b'{"a":1}\r\n\n[1]\n"x"\n7\ntrue\nnull\n{"a":1\n{"a":1,"a":2}\n{"a":NaN}\n{"a":2}'
    found = records(data)
    assert [number for number, *_ in found] == list(range(1, 12))
    assert [one[2] for one in found] == [{"a": 1}, *[None] * 9, {"a": 2}]
    assert [why for *_, why in found[1:7]] == [
        "the line is blank",
        "no JSON object, but a list",
        "no JSON object, but a text",
        "no JSON object, but a number",
        "no JSON object, but true or false",
        "no JSON object, but null",
    ]
    assert found[7][3].startswith("no JSON: ")
    assert [why for *_, why in found[8:10]] == ["no JSON: duplicate key 'a'", "no JSON: NaN is no JSON number"]
    lines = data.split(b"\n")
    assert [offset for _, offset, *_ in found] == [sum(len(line) + 1 for line in lines[:n]) for n in range(len(lines))]


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"], ids=ascii)
@pytest.mark.parametrize("form", [Form.JSONL, Form.TEXT, Form.CSV])
def test_br_175_lines_end_at_line_feeds_alone(end, form):
    value = f"one{end}two"
    line = {Form.JSONL: f'{{"line": "{value}"}}', Form.TEXT: value, Form.CSV: f"line\n{value}"}[form]
    found = [one.data for one in read(io.BytesIO(f"{line}\n".encode() * (1 if form is Form.CSV else 2)), form)]
    whole = form is not Form.JSONL or end >= " "  # JSON has control characters as escapes only
    assert found == [{"line": value} if whole else None] * len(found)
    assert len(found) == (1 if form is Form.CSV else 2)


@pytest.mark.parametrize("form", Form)
def test_a_reading_may_begin_with_any_record_of_another(form):
    data = {
        Form.JSONL: b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": "x"}\n7\n{"a": 2}',
        Form.TEXT: b"\xef\xbb\xbfone\n\n\xff\nfour",
        Form.CSV: b'\xef\xbb\xbfid,text\n1,"a\nb"\n\n2\n3,x',
    }[form]
    whole = list(read(io.BytesIO(data), form))
    assert len(whole) > 3
    for at, first in enumerate(whole):
        assert list(read(io.BytesIO(data), form, first=first)) == whole[at:]


def test_text_is_one_field_and_what_is_no_utf8_is_said():
    assert records(b"\xef\xbb\xbfone \xc3\xa4\n  \nab\xff\nlast", Form.TEXT) == [
        (1, 0, {"line": "one \u00e4"}, ""),
        (2, 10, None, "the line is blank"),
        (3, 13, None, "no UTF-8: byte 2 of the line is 0xff"),
        (4, 17, {"line": "last"}, ""),
    ]


def test_csv_rows_may_go_over_lines_and_misfits_are_said():
    data = b'id,text\r\n1,"a ""b""\nc"\r\n2\r\n\r\n3,x,y\r\n4,\xff\r\n5,z'
    assert records(data, Form.CSV) == [
        (1, 9, {"id": "1", "text": 'a "b"\nc'}, ""),
        (2, 24, None, "1 field, and the header has 2"),
        (3, 27, None, "the line is blank"),
        (4, 29, None, "3 fields, and the header has 2"),
        (5, 36, None, "no UTF-8: byte 2 of the line is 0xff"),
        (6, 41, {"id": "5", "text": "z"}, ""),
    ]


def test_a_field_of_a_csv_may_have_any_length():
    text = ("x" * 99 + "\n") * 1400
    data = "id,text\n" + "".join(f'{n},"{text}"\n' for n in range(4))
    assert [one[2] for one in records(data.encode(), Form.CSV)] == [{"id": str(n), "text": text} for n in range(4)]


def test_a_wrong_row_of_a_csv_is_one_row_up_to_where_it_would_end():
    # None of it is taken for another record, which would be paid for.
    data = b'id,text\n1,"a\nb\nc"x\n2,"d\n3,\xff"\n4,"e""f" ,g\n5,h\n6,i\rj\n7,"k\n8,l\n9,m'
    assert records(data, Form.CSV) == [
        (1, 8, None, "no CSV: a quoted field goes on behind its quote; the row takes 3 lines"),
        (2, 19, None, "no UTF-8: byte 2 of the line is 0xff; the row takes 2 lines"),
        (3, 29, None, "no CSV: a quoted field goes on behind its quote"),
        (4, 41, {"id": "5", "text": "h"}, ""),
        (5, 45, None, "no CSV: a carriage return outside quotes"),
        (6, 51, None, "no CSV: a quote is opened and never closed; the row takes 3 lines"),
    ]


@given(st.text('ab,"\n', max_size=24))
def test_a_csv_is_read_as_python_reads_it(text):
    found = records(b"a,b\n" + text.encode(), Form.CSV)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        assert any(why.startswith("no CSV: ") for *_, why in found)
    else:
        assert [one[2] for one in found] == [
            dict(zip("ab", row, strict=True)) if len(row) == 2 else None for row in rows
        ]


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"\na,b\n", "no header"), (b"a,a\n1,2\n", "names 'a' twice"), (b'"a,b\n', "no header: .* never closed")],
)
def test_a_csv_without_a_header_that_can_be_used_is_refused(data, why):
    with pytest.raises(UsageError, match=why):
        records(data, Form.CSV)


def test_nothing_gives_no_records():
    assert records(b"") == records(b"", Form.TEXT) == records(b"", Form.CSV) == records(b"a,b\n", Form.CSV) == []


def test_the_name_says_the_form():
    names = ["a.jsonl", "a.ndjson", "a.CSV", "a.txt", "x.log", "a"]
    assert [form_of(Path(name)) for name in names] == [
        Form.JSONL,
        Form.JSONL,
        Form.CSV,
        Form.TEXT,
        Form.TEXT,
        Form.JSONL,
    ]


def test_a_record_is_read_at_a_time():
    read_first = next(iter(read(io.BytesIO(b'{"a":1}\n' * 3), Form.JSONL)))
    assert read_first == Record(1, 0, {"a": 1})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"a": 1,}', "no JSON: wrong at character 8 of the line"),
        (b'{"a": [1 , ]}', "no JSON: wrong at character 10 of the line"),
        (b'{"a": 1,, "b": 2}', "no JSON: wrong at character 9 of the line"),
        (b'{"a": "x', "no JSON: wrong at character 7 of the line"),
        (b'{"a": 1} x', "no JSON: wrong at character 10 of the line"),
        (b'{"a": "\xff"}', "no UTF-8: byte 7 of the line is 0xff"),
        (b'{"a": ' + b"1" * 5000 + b"}", "no JSON: a number of too many digits"),
        (b'{"a": ' * 20000, "no JSON: nested too deep"),
    ],
    ids=range(8),
)
def test_what_is_wrong_is_told_in_words_of_no_python_version(line, why):
    # A row holds them, and a batch that is verified under another Python must give the same row.
    assert records(line) == [(1, 0, None, why)]


@pytest.mark.parametrize("form", list(Form))
def test_what_was_read_is_tallied_up_to_the_last_record_that_was_taken(form):
    data = b"\xef\xbb\xbfa\r\n{}\r\n\xff\nlast"
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10] + [len(data)]
    skipped = form is Form.CSV  # the header
    for number, end in enumerate(ends[skipped:], 1):
        tally = Tally()
        assert len(list(itertools.islice(read(io.BytesIO(data), form, tally), number))) == number
        assert (tally.bytes, tally.sha256) == (end, sha256(data[:end]).hexdigest())
    whole = Tally()
    list(read(io.BytesIO(data), form, whole))
    assert whole.bytes == len(data)
