"""Where tests run calls at the same time."""

from __future__ import annotations

import pytest

from onetake.doctor.concurrency import Concurrency


@pytest.fixture
def site(project, opened):
    """Return a function that says where the one marked test of a project runs calls at the same time."""

    def run(more=None, **files):
        folder = project({f"{name}.py": text for name, text in files.items()} | (more or {}))
        (one,), sources, configurations, _ = opened(folder)
        found = Concurrency(sources, configurations.fixtures).find_site(one)
        return found and (found.path.relative_to(folder).as_posix(), found.line, found.name)

    return run


def marked(body, head="", name="def test_a()"):
    return f"import pytest\n{head}\n\n@pytest.mark.vcr\n{name}:\n    {body}\n"


@pytest.mark.parametrize(
    ("head", "call"),
    [
        ("import asyncio", "asyncio.gather()"),
        ("import asyncio as a", "a.gather()"),
        ("from asyncio import gather", "gather()"),
        ("import threading", "threading.Thread()"),
        ("from concurrent.futures import ThreadPoolExecutor", "ThreadPoolExecutor()"),
        ("import concurrent.futures", "concurrent.futures.ThreadPoolExecutor()"),
        ("import dspy", "dspy.Parallel()"),
        ("", "loop.create_task(f())"),
        ("", "group.start_soon(f)"),
        ("", "chain.abatch([])"),
    ],
)
def test_what_starts_them_in_the_test_itself(site, head, call):
    assert site(test_m=marked(call, head)) == ("test_m.py", 6, call.partition("(")[0])


@pytest.mark.parametrize(
    ("imports", "call", "name"),
    [
        ("from asyncio import gather", "gather()", "gather"),
        ("import asyncio as aio", "aio.TaskGroup()", "aio.TaskGroup"),
        ("from anyio import create_task_group as group", "group()", "group"),
    ],
)
def test_what_a_test_imports_itself_counts(site, imports, call, name):
    assert site(test_m=marked(f"{imports}\n    {call}")) == ("test_m.py", 7, name)
    run = "from asyncio import gather\n\nasync def run():\n    await gather()\n"
    within = marked("from app import run\n    await run()", name="async def test_a()")
    assert site(test_m=within, app=run) == ("app.py", 4, "gather")


def test_what_has_such_a_name_alone_is_none(site):
    assert site(test_m=marked("gather()\n    Thread()\n    x = 'asyncio.gather()'")) is None


def test_helpers_fixtures_and_code_of_the_project_count(site):
    gather = "import asyncio\n\nasync def run():\n    await asyncio.gather()\n"
    by_name = "from app import run"
    assert site(test_m=marked("await run()", by_name, "async def test_a()"), app=gather) == (
        "app.py",
        4,
        "asyncio.gather",
    )
    assert site(
        test_m=marked("...", name="def test_a(pool)"),
        conftest=gather.replace("async def run", "@pytest.fixture\nasync def pool"),
    ) == (
        "conftest.py",
        5,
        "asyncio.gather",
    )


def test_methods_count_that_are_used(site):
    app = "import threading\n\nclass App:\n    def one(self): ...\n    def all(self):\n        threading.Thread()\n"
    assert site(test_m=marked("App().one()", "from app import App"), app=app) is None
    assert site(test_m=marked("App().all()", "from app import App"), app=app) == ("app.py", 6, "threading.Thread")
    assert site({"lib/src/pack/__init__.py": app}, test_m=marked("App().all()", "from pack import App")) == (
        "lib/src/pack/__init__.py",
        6,
        "threading.Thread",
    )


def test_an_object_of_a_class_that_is_a_thread_counts(site):
    app = "from threading import Thread\n\nclass Base(Thread): ...\n\nclass Worker(Base): ...\n\nclass Other: ...\n"
    assert site(test_m=marked("Worker().start()", "from app import Worker"), app=app) == ("test_m.py", 6, "Worker")
    assert site(test_m=marked("Other().start()", "from app import Other"), app=app) is None


def test_an_async_function_is_reached_only_where_something_awaits(site):
    app = "import asyncio\n\nasync def run():\n    await asyncio.gather()\n\ndef sync():\n    asyncio.run(run())\n"
    assert site(test_m=marked("f(run)", "from app import run"), app=app) is None
    assert site(test_m=marked("sync()", "from app import sync"), app=app) == ("app.py", 4, "asyncio.gather")


def test_functions_that_call_each_other_end(site):
    assert site(test_m=marked("a()", "def a():\n    b()\ndef b():\n    a()")) is None


def test_one_call_beside_another_counts_in_the_file_of_the_test_alone(site):
    app = "import asyncio\n\nasync def run():\n    asyncio.create_task(x())\n"
    assert site(test_m=marked("await run()", "from app import run", "async def test_a()"), app=app) is None
    own = marked("asyncio.create_task(x())", "import asyncio", "async def test_a()")
    assert site(test_m=own) == ("test_m.py", 6, "asyncio.create_task")
