"""Run by a Python at its start, from the front of PYTHONPATH: opens the session of the process that started it.

Then it gets out of the way, and runs the `sitecustomize` that it stands in front of. Only plain words: an older Python
may read this too.
"""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


def _begin() -> None:
    if "ONETAKE_SESSION" not in os.environ:
        return
    try:
        _make_importable()
        from onetake.inherited import start
    except Exception as error:  # noqa: BLE001 - a Python that we cannot serve still has its own work to do
        message = f"onetake: {sys.executable} cannot load onetake, its calls are not intercepted: {error}\n"
        sys.stderr.write(message)
        return
    start()


def _make_importable() -> None:
    """Load the package from beside this file where this Python has none of its own, and nothing else from there."""
    if importlib.util.find_spec("onetake") is not None:
        return
    package = os.path.dirname(HERE)  # noqa: PTH120
    place = os.path.join(package, "__init__.py")  # noqa: PTH118
    spec = importlib.util.spec_from_file_location("onetake", place, submodule_search_locations=[package])
    if spec is None or spec.loader is None:
        raise ImportError("it is not at " + place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["onetake"] = module
    spec.loader.exec_module(module)


def _give_way() -> None:
    """Take this folder off the path, and run the next `sitecustomize` in our place."""
    sys.path[:] = [part for part in sys.path if os.path.abspath(part or ".") != HERE]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _begin()
finally:
    _give_way()
