"""Run by a Python at its start, from the front of PYTHONPATH: opens the session of the process that started it.

Then it gets out of the way, and runs the `sitecustomize` that it stands in front of. Only plain words: an older Python
may read this too.
"""

import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


def _begin() -> None:
    if not os.environ.get("ONETAKE_SESSION"):
        return
    try:
        _make_importable()
        from onetake.installing import join

        importlib.import_module("onetake.inherited")
    except Exception as error:  # noqa: BLE001 - whatever it is, this Python cannot serve
        _go_without(error)
        return
    join()


def _go_without(error: Exception) -> None:
    """Say that this Python cannot join the session; where that is sealed, end before the program runs."""
    sealed = _is_sealed()
    try:
        sys.stderr.write("onetake: " + sys.executable + " cannot load onetake, ")
        sys.stderr.write("and its session never goes live: " if sealed else "its calls are not intercepted: ")
        sys.stderr.write(str(error) + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # it is closed, say: nobody can be told
        pass
    if sealed:
        os._exit(2)


def _is_sealed() -> bool:
    """Tell whether the session never goes live; one that cannot be read is not known to."""
    try:
        mode = json.loads(os.environ["ONETAKE_SESSION"])["mode"]
    except Exception:  # noqa: BLE001 - whatever it is
        return True
    return bool(mode == "none")


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
