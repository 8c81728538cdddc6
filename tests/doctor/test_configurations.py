"""What the places of a project say to vcrpy."""

from __future__ import annotations

import pytest

from onetake.doctor.configurations import told, words
from onetake.doctor.values import UNTOLD
from onetake.vcrwords.matching import DEFAULT

MARKED = "import pytest\n\n@pytest.mark.vcr{}\ndef test_a(): ...\n"


@pytest.fixture
def compared(project, opened):
    """Return a function that writes files and returns what each opening compares, and whether that is the body."""

    def run(**files):
        found, _, _, matchers = opened(project({f"{name}.py": text for name, text in files.items()}))
        return [(words(one.layers), [matchers.compares_body(each) for each in words(one.layers)]) for one in found]

    return run


def config(body, decorator="@pytest.fixture"):
    return f"import pytest\n\n{decorator}\ndef vcr_config():\n    {body}\n"


def test_where_nothing_is_said_vcrpys_default_holds(compared):
    assert compared(test_a=MARKED.format("")) == [((DEFAULT,), [False])]


@pytest.mark.parametrize(
    ("body", "compares"),
    [
        ("return {'match_on': ['method', 'uri']}", [False]),
        ("return {'match_on': ['method', 'uri', 'body']}", [True]),
        ("return {'match_on': ('raw_body',)}", [True]),
        ("return dict(additional_matchers=['body'])", [True]),
        ("return {'match_on': compute()}", [None]),
        ("return compute()", [None]),
        ("return {'match_on': ['body']} if fast else {}", [True, False]),
        ("return {'match_on': ['mine']}", [None]),
    ],
)
def test_the_fixture_of_a_conftest(compared, body, compares):
    assert [found for _, found in compared(conftest=config(body), test_a=MARKED.format(""))] == [compares]


def test_a_nearer_fixture_and_a_marker_win(compared):
    found = compared(
        conftest=config("return {'match_on': ['body']}"),
        test_a=config("return {'match_on': ['uri']}") + MARKED.format(""),
        test_b=MARKED.format("(match_on=['path'])"),
        test_c="import pytest\npytestmark = [pytest.mark.vcr(match_on=['host'])]\n\ndef test_c(): ...\n",
        test_d="import pytest\n\n@pytest.mark.vcr\nclass TestD:\n    @pytest.fixture\n    def vcr_config(self):\n"
        "        return {'match_on': ['query']}\n\n    def test_d(self): ...\n",
        test_e="import pytest\nmark = pytest.mark.vcr(match_on=['port'])\n\n@mark\ndef test_e(): ...\n",
        test_f="import pytest\n\n@pytest.mark.vcr(match_on=['uri'])\nclass TestF:\n"
        "    @pytest.mark.vcr(match_on=['method'])\n    def test_f(self): ...\n",
    )
    assert [each for each, _ in found] == [
        (("uri",),),
        (("path",),),
        (("host",),),
        (("query",),),
        (("port",),),
        (("method",),),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import vcr\n\n@vcr.use_cassette('a.yaml')\ndef test_a(): ...\n", DEFAULT),
        ("import vcr\n\n@vcr.use_cassette('a.yaml', match_on=['body'])\ndef test_a(): ...\n", ("body",)),
        ("import vcr\nmy = vcr.VCR(match_on=['uri'])\n\n@my.use_cassette('a')\ndef test_a(): ...\n", ("uri",)),
        ("import vcr\nmy = vcr.VCR()\nmy.match_on = ['path']\n\n@my.use_cassette\ndef test_a(): ...\n", ("path",)),
        ("from base import my\n\ndef test_a():\n    with my.use_cassette('a'):\n        ...\n", ("host",)),
        ("from base import make\n\ndef test_a():\n    with make().use_cassette('a'):\n        ...\n", ("query",)),
        ("import base\n\n@base.my.use_cassette('a')\nasync def test_a(): ...\n", ("host",)),
        (
            "from vcr import VCR\n\ndef test_a():\n    my = VCR(match_on=('method',))\n"
            "    with my.use_cassette('a'): ...\n",
            ("method",),
        ),
        ("from vcr import VCR\n\ndef test_a():\n    with VCR(match_on=('port',)).use_cassette('a'): ...\n", ("port",)),
        (
            "import vcr\nimport pytest\n\n@pytest.fixture\ndef recorder():\n    return vcr.VCR(match_on=['scheme'])\n\n"
            "def test_a(recorder):\n    with recorder.use_cassette('a'): ...\n",
            ("scheme",),
        ),
        (
            "import vcr\n\ndef make(**kw):\n    options = {'match_on': ['host']}\n    options.update(kw)\n"
            "    return vcr.VCR(**options)\n\nmy = make(match_on=['query', 'body'])\n\n"
            "def test_a():\n    with my.use_cassette('a'): ...\n",
            ("query", "body"),
        ),
        (
            "import vcr\n\ndef make():\n    made = vcr.VCR()\n    made.match_on = ['path']\n    return made\n\n"
            "def test_a():\n    with make().use_cassette('a'): ...\n",
            ("path",),
        ),
        (
            "from vcr import VCR\n\nclass TestA:\n    def recorder(self):\n        return VCR(match_on=['scheme'])\n\n"
            "    def test_a(self):\n        with self.recorder().use_cassette('a'): ...\n",
            ("scheme",),
        ),
        (
            "import vcr\n\nclass TestA:\n    vcr = vcr.VCR(match_on=['port'])\n\n"
            "    @vcr.use_cassette('a')\n    def test_a(self): ...\n",
            ("port",),
        ),
        ("def test_a():\n    from base import my\n    with my.use_cassette('a'): ...\n", ("host",)),
        ("from base import use\n\n@use('a')\ndef test_a(): ...\n", ("host",)),
        ("from base import part\n\ndef test_a():\n    with part('a'): ...\n", ("uri",)),
    ],
)
def test_recorders_are_found_wherever_they_are_made(compared, text, expected):
    base = (
        "import vcr\nfrom functools import partial\nmy = vcr.VCR(match_on=['host'])\nuse = my.use_cassette\n"
        "part = partial(my.use_cassette, match_on=['uri'])\n\ndef make():\n    return vcr.VCR(match_on=['query'])\n"
    )
    assert [each for each, _ in compared(test_a=text, base=base)] == [(expected,)]


def test_a_recorder_that_nobody_can_find_may_compare_anything(compared):
    assert compared(test_a="def test_a(my):\n    with my.use_cassette('a'): ...\n") == [((None,), [None])]


def test_what_other_recorders_open_is_none_of_ours(compared):
    assert compared(test_a="import onetake\n\n@onetake.use_cassette('a')\ndef test_a(): ...\n") == []
    assert compared(test_b="from cassetter import use_cassette\n\n@use_cassette('a')\ndef test_a(): ...\n") == []


def test_a_hook_may_set_what_is_compared(compared):
    hook = "def pytest_recording_configure(config, vcr):\n    vcr.match_on = ['method', 'body']\n"
    assert compared(conftest=hook, test_a=MARKED.format("")) == [((("method", "body"),), [True])]


def test_the_line_of_a_keyword_is_known(project, opened):
    conftest = config(
        "return {\n        'filter_headers': [],\n        'match_on': ['uri'],\n        'record_mode': mode(),\n    }"
    )
    found, *_ = opened(project({"conftest.py": conftest, "test_a.py": MARKED.format("")}))
    (one,) = found
    compared, mode = told(one.layers, "match_on"), told(one.layers, "record_mode")
    assert (compared.by.path.name, compared.by.lines["match_on"]) == ("conftest.py", 7)
    assert (mode.values, mode.by.lines["record_mode"]) == ((UNTOLD,), 8)
    assert told(one.layers, "serializer") == ((), None) or told(one.layers, "serializer").by is None
