"""Arguments as a shell takes them: a command that is told can be run as it stands, whatever a file is called."""

from __future__ import annotations

import re

from onetake.printable import is_speakable, one_line


def quoted(argument: str, most: int | None = None) -> str:
    """Quote an argument where a shell would not take it as it is; double quotes mean the same in all shells.

    What cannot be printed is written in bytes, as bash, zsh and ksh read them whatever their locale is.

    Args:
        argument: It, exactly.
        most: Characters; what is longer is shortened in the middle, and is the argument no more. None for any length.
    """
    if most is not None and len(argument) > most:
        argument = one_line(argument, most)
    if re.fullmatch(r"[\w./:@+=,-]+", argument):
        return argument
    if not is_speakable(argument):
        return f"$'{''.join(map(_in_ansi_c, argument))}'"
    if not re.search(r'["$`\\!%]', argument):
        return f'"{argument}"'
    from shlex import quote

    return quote(argument)


def quoted_path(path: str, most: int | None = None) -> str:
    """Quote a path as `quoted` does; it is no option, whatever it begins with."""
    return quoted(f"./{path}" if path.startswith("-") else path, most)


def _in_ansi_c(sign: str) -> str:
    """Return a character as it stands between `$'` and `'`.

    Source: the Bash manual, "ANSI-C Quoting"; POSIX.1-2024, 2.2.4. A `\\u` would depend on the locale.
    """
    if is_speakable(sign):
        return f"\\{sign}" if sign in "'\\" else sign
    is_byte = "\udc80" <= sign <= "\udcff"  # of a name that is none in UTF-8
    data = sign.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in data)
