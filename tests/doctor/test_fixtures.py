"""The fixtures that count for a test."""

from __future__ import annotations

import pytest

from onetake.doctor.configurations import told, words

MARKED = "import pytest\n\n@pytest.mark.vcr\ndef test_a(): ...\n"
HEAD = "import pytest\n\n@pytest.fixture{}\ndef {}({}):\n    {}\n"


@pytest.fixture
def compared(project, opened):
    """Return a function that writes files and returns what each marked test compares, by its name."""

    def run(files):
        found, *_ = opened(project(files))
        return {one.test.rpartition("::")[2]: words(one.layers) for one in found}

    return run


def fixture(body, asks="", name="vcr_config", how=""):
    return HEAD.format(how, name, asks, body)


@pytest.mark.parametrize(
    "child",
    [
        "return {**vcr_config, 'record_mode': 'none'}",
        "return vcr_config | {'record_mode': 'none'}",
        "config = dict(vcr_config)\n    config['record_mode'] = 'none'\n    return config",
        "vcr_config.update(record_mode='none')\n    yield vcr_config",
    ],
)
def test_a_fixture_that_builds_on_the_one_above_it(project, opened, child):
    folder = project(
        {
            "conftest.py": fixture("return {'match_on': ['body']}"),
            "tests/conftest.py": fixture(child, asks="vcr_config"),
            "tests/test_m.py": MARKED,
        }
    )
    ((one,), *_) = opened(folder)
    assert words(one.layers) == (("body",),)
    assert told(one.layers, "record_mode").values == ("none",)


def test_what_a_fixture_asks_for_is_followed(compared):
    files = {
        "conftest.py": fixture("return ['uri', 'body']", name="wanted")
        + fixture("return {'match_on': wanted}", "wanted"),
        "test_m.py": MARKED,
        "sub/conftest.py": fixture("return ['uri']", name="wanted"),
        "sub/test_n.py": MARKED.replace("test_a", "test_b"),
        "alone/conftest.py": fixture("return {**vcr_config, 'match_on': unheard_of}", "vcr_config, unheard_of"),
        "alone/test_o.py": MARKED.replace("test_a", "test_c"),
    }
    assert compared(files) == {"test_a": (("uri", "body"),), "test_b": (("uri",),), "test_c": (None,)}


def test_fixtures_by_inheritance_plugins_stars_and_other_names(compared):
    files = {
        "conftest.py": "pytest_plugins = ['support.plugin']\n",
        "support/__init__.py": "",
        "support/plugin.py": fixture("return {'match_on': ['host']}", name="_named", how="(name='vcr_config')"),
        "support/stars.py": fixture("return {'match_on': ['path']}"),
        "support/base.py": "import pytest\n\nclass Base:\n    @pytest.fixture\n    def vcr_config(self):\n"
        "        return {'match_on': ['query']}\n",
        "by_plugin/test_m.py": MARKED,
        "by_star/conftest.py": "from support.stars import *\n",
        "by_star/test_n.py": MARKED.replace("test_a", "test_b"),
        "by_class/test_o.py": "import pytest\nfrom support.base import Base\n\nclass TestC(Base):\n"
        "    @pytest.mark.vcr\n    def test_c(self): ...\n",
        "plain/test_p.py": "vcr_config = {'match_on': ['body']}\n" + MARKED.replace("test_a", "test_d"),
        "made/test_q.py": "vcr_config = make()\n" + MARKED.replace("test_a", "test_e"),
    }
    assert compared(files) == {
        "test_a": (("host",),),
        "test_b": (("path",),),
        "test_c": (("query",),),
        "test_d": (("host",),),
        "test_e": (None,),
    }


def test_the_plugins_own_fixture_of_the_record_mode_may_be_the_projects(project, opened):
    conftest = fixture("return 'once'", name="record_mode") + fixture("return {'match_on': ['body']}")
    ((one,), *_) = opened(project({"conftest.py": conftest, "test_m.py": MARKED}))
    assert told(one.layers, "record_mode").values == ("once",)
    assert told(one.layers, "record_mode").by.line == 4
