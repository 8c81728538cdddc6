"""However a process is started under a sealed session, it is sealed, and its parent knows what was refused there."""

from __future__ import annotations

import sys

import pytest

_FORK = """
    pid = os.fork()
    if not pid:
        both()
        os._exit(0)
    os.waitpid(pid, 0)
"""

_EXEC = """
    pid = os.fork()
    if not pid:
        os.execve(sys.executable, CHILD, PLAIN)
    os.waitpid(pid, 0)
"""

_PROCESS = """
    process = multiprocessing.get_context(METHOD).Process(target=both)
    process.start()
    process.join()
"""

_EXECUTOR = """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(METHOD)) as pool:
        pool.submit(both).result()
"""

_GRANDCHILD = """
    nested = "import subprocess, sys; subprocess.run([sys.executable, 'asking.py'], env=ENV)"
    nested = nested.replace("ENV", repr(PLAIN))
    subprocess.run([sys.executable, "-c", nested], env={**PLAIN, "PYTHONPATH": "elsewhere"}, check=True)
"""

_ASYNC = """
    async def main():
        process = await asyncio.create_subprocess_exec(*CHILD, env=PLAIN)
        await process.wait()
    asyncio.run(main())
"""

_QUICK = {
    "fork": _FORK,
    "subprocess-env": "subprocess.run(CHILD, env=PLAIN, check=True)",
    "process-spawn": _PROCESS.replace("METHOD", '"spawn"'),
}
_SLOW = {
    "subprocess": "subprocess.run(CHILD, check=True)",
    "process-fork": _PROCESS.replace("METHOD", '"fork"'),
    "process-forkserver": _PROCESS.replace("METHOD", '"forkserver"'),
    "executor-fork": _EXECUTOR.replace("METHOD", '"fork"'),
    "executor-spawn": _EXECUTOR.replace("METHOD", '"spawn"'),
    "asyncio": _ASYNC,
    "exec": _EXEC,
    "posix_spawn": "os.waitpid(os.posix_spawn(sys.executable, CHILD, PLAIN), 0)",
    "spawnv": "os.spawnv(os.P_WAIT, sys.executable, CHILD)",
    "spawnve": "os.spawnve(os.P_WAIT, sys.executable, CHILD, PLAIN)",
    "system": "os.system(' '.join(CHILD))",
    "grandchild": _GRANDCHILD,
}
_ALIKE = (
    "subprocess",
    "process-fork",
    "executor-fork",
    "executor-spawn",
    "spawnv",
    "spawnve",
    "process-spawn",
    "system",
)
_ON_POSIX = ("fork", "forkserver", "exec", "posix_spawn")
_WAYS = [
    pytest.param(
        body,
        id=name,
        marks=[
            *([pytest.mark.slow] if name in _SLOW else []),
            *([pytest.mark.whole] if name in _ALIKE else []),
            *([pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")] if name.endswith(_ON_POSIX) else []),
        ],
    )
    for name, body in {**_QUICK, **_SLOW}.items()
]


@pytest.mark.parametrize("body", _WAYS)
def test_a_child_replays_and_is_refused_and_its_parent_knows(sealed, body):
    done = sealed.run(body)
    assert done.out.split("\n") == [
        "answer 1 to: known",
        "InteractionNotFound",
        "1 known of",
        "raised True",
        "True as before",
        "",
    ], done.err
    assert done.err.count("onetake: no interaction is stored for this request") == 1
    assert not [name for name in sealed.project.files(".onetake") if "children" in name]


def test_without_a_session_the_same_program_goes_out(sealed):
    assert sealed.run_file({}, "asking.py", asked=2).out == "answer 2 to: known\nanswer 3 to: unknown\n"
