"""Where tests open cassettes, and which."""

from __future__ import annotations

import pytest

from onetake.doctor.openings import Index

MARKED = "import pytest\n\n@pytest.mark.vcr\ndef test_a(x): ...\n"


@pytest.fixture
def opens(project, opened):
    """Return a function that writes files and says which tests open a cassette."""

    def run(files, cassette):
        folder = project(files)
        found, *_ = opened(folder)
        return [one.test for one in Index(found).opening(folder / cassette)]

    return run


@pytest.mark.parametrize(
    "cassette",
    [
        "tests/cassettes/test_m/test_a.yaml",
        "tests/cassettes/test_m/test_a.yml",
        "tests/cassettes/test_m/test_a.json",
        "tests/cassettes/test_m/test_a.yaml.gz",
        "tests/cassettes/test_m/test_a[Return [1, 2]-x!].yaml",
        "tests/cassettes/test_a.yaml",
    ],
)
def test_a_marked_tests_cassette_lies_in_a_folder_beside_it(opens, cassette):
    assert opens({"tests/test_m.py": MARKED}, cassette) == ["tests/test_m.py::test_a"]


@pytest.mark.parametrize(
    "cassette", ["tests/cassettes/test_n/test_a.yaml", "tests/cassettes/test_m/test_ab.yaml", "test_a.yaml"]
)
def test_others_are_not_its_own(opens, cassette):
    assert opens({"tests/test_m.py": MARKED}, cassette) == []


def test_a_class_and_a_default_cassette_name_it(opens):
    text = (
        "import pytest\n\nclass TestB:\n    @pytest.mark.vcr\n    def test_a(self): ...\n\n"
        "@pytest.mark.vcr('more.yaml')\n@pytest.mark.default_cassette('own.yaml')\ndef test_c(): ...\n"
    )
    assert opens({"test_m.py": text}, "cassettes/test_m/TestB.test_a.yaml") == ["test_m.py::TestB::test_a"]
    assert opens({"test_m.py": text}, "cassettes/test_m/own.yaml") == ["test_m.py::test_c"]
    assert opens({"test_m.py": text}, "cassettes/test_m/more.yaml") == ["test_m.py::test_c"]
    assert opens({"test_m.py": text}, "cassettes/test_m/test_c.yaml") == []


def test_of_nested_classes_the_innermost_names_it(opens):
    inner = "    class TestInner:\n        @pytest.mark.vcr\n        def test_a(self): ...\n"
    text = f"import pytest\n\nclass TestOuter:\n{inner}"
    test = "test_m.py::TestOuter::TestInner::test_a"
    assert opens({"test_m.py": text}, "cassettes/test_m/TestInner.test_a.yaml") == [test]
    assert opens({"test_m.py": text}, "cassettes/test_m/TestOuter.TestInner.test_a.yaml") == []


def test_a_fixture_may_name_the_cassette(opens):
    conftest = "import pytest\n\n@pytest.fixture\ndef {}(request):\n    return f'own-{{request.node.name}}'\n"
    for name in ("default_cassette_name", "vcr_cassette_name"):
        files = {"conftest.py": conftest.format(name), "test_m.py": MARKED}
        assert opens(files, "cassettes/test_m/own-anything.yaml") == ["test_m.py::test_a"]
        assert opens(files, "cassettes/test_m/test_a.yaml") == []


def test_one_that_may_open_any_opens_none_that_another_does(opens):
    text = "import vcr\n\ndef test_b(path):\n    with vcr.use_cassette(path): ...\n\n"
    files = {"test_m.py": text + MARKED}
    assert opens(files, "cassettes/test_m/test_a.yaml") == ["test_m.py::test_a"]
    assert opens(files, "cassettes/test_m/test_c.yaml") == ["test_m.py::test_b"]


def test_a_fixture_may_name_the_folder(opens):
    conftest = (
        "import pytest\nfrom pathlib import Path\n\n@pytest.fixture(scope='module')\ndef vcr_cassette_dir(request):\n"
        "    return str(Path(__file__).parent / 'recorded' / request.module.__name__)\n"
    )
    files = {"tests/conftest.py": conftest, "tests/test_m.py": MARKED}
    assert opens(files, "tests/recorded/anything/test_a.yaml") == ["tests/test_m.py::test_a"]
    assert opens(files, "tests/cassettes/test_m/test_a.yaml") == []


@pytest.mark.parametrize(
    ("call", "cassette"),
    [
        ("vcr.use_cassette('tests/fixtures/a.yaml')", "tests/fixtures/a.yaml"),
        ("vcr.use_cassette('fixtures/a.yaml')", "tests/fixtures/a.yaml"),
        ("vcr.use_cassette(path='fixtures/a.yaml')", "tests/fixtures/a.yaml"),
        ("vcr.use_cassette(f'fixtures/{name}.yaml')", "tests/fixtures/anything.yaml"),
        ("vcr.use_cassette(os.path.join(HERE, 'fixtures', 'a.yaml'))", "tests/fixtures/a.yaml"),
        ("vcr.VCR(cassette_library_dir='tests/kept').use_cassette('a.yaml')", "tests/kept/a.yaml"),
        ("vcr.VCR(cassette_library_dir=str(ROOT / 'kept')).use_cassette('a')", "tests/kept/a.yaml"),
        ("vcr.use_cassette()", "tests/test_m"),
    ],
)
def test_a_call_names_its_cassette(opens, call, cassette):
    text = (
        "import os\nimport vcr\nfrom pathlib import Path\nHERE = os.path.dirname(__file__)\n"
        f"ROOT = Path(__file__).parent\n\ndef test_m(name):\n    with {call}:\n        ...\n"
    )
    assert opens({"tests/test_x.py": text}, cassette) == ["tests/test_x.py::test_m"]
    assert opens({"tests/test_x.py": text}, "tests/elsewhere/b.yaml") == []


def test_tests_that_a_hook_marks_are_those_that_have_a_cassette(project, opened):
    conftest = (
        "import pytest\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        item.add_marker(pytest.mark.vcr)\n"
    )
    text = "def test_a(): ...\ndef test_b(): ...\n"
    folder = project(
        {"conftest.py": conftest, "test_m.py": text, "cassettes/test_m/test_a[1].yaml": "interactions: []\n"}
    )
    found, *_ = opened(folder)
    assert [one.test for one in found] == ["test_m.py::test_a"]


def test_a_cassette_whose_name_cannot_be_told_is_vague(project, opened):
    folder = project({"test_a.py": "import vcr\n\ndef test_a(path):\n    with vcr.use_cassette(path): ...\n"})
    (one,), *_ = opened(folder)
    assert one.is_vague


def test_a_name_of_many_unknown_parts_is_matched_in_no_time(opens):
    parts = "a".join(f"{{x{number}}}" for number in range(60))
    text = f"import vcr\n\ndef test_m():\n    with vcr.use_cassette(f'{parts}'):\n        ...\n"
    assert opens({"test_x.py": text}, f"{'a' * 200}.yaml") == ["test_x.py::test_m"]


def test_a_fixture_that_opens_a_cassette_is_opened_by_the_tests_that_ask_for_it(opens):
    conftest = (
        "import pytest\nimport vcr\n\n@pytest.fixture\ndef recorded():\n    with vcr.use_cassette('kept/a'):\n"
        "        yield\n\n@pytest.fixture\ndef nobodys():\n    with vcr.use_cassette('kept/b'):\n        yield\n"
    )
    text = "def test_a(recorded): ...\n\nclass TestB:\n    def test_b(self, recorded): ...\n\ndef test_c(): ...\n"
    own = "import pytest\n\n@pytest.fixture\ndef recorded(): ...\n\ndef test_d(recorded): ...\n"
    files = {"conftest.py": conftest, "test_m.py": text, "test_own.py": own}
    assert opens(files, "kept/a.yaml") == ["test_m.py::test_a", "test_m.py::TestB::test_b"]
    assert opens(files, "kept/b.yaml") == ["conftest.py::nobodys"]
