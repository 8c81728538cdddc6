"""Every error of onetake.

    OnetakeError(BaseException)
    ├── UsageError       (also Exception)   the call, the settings or the contract is wrong
    ├── StoreError       (also Exception)   the store cannot be read or written
    ├── FormatError      (also Exception)   the bytes of an entry are damaged or of an unknown version
    │   └── NewerFormatError                what a newer onetake wrote, and this one does not know
    ├── AdapterError     (also Exception)   a client cannot be intercepted
    └── Refusal                             our no to a request or to an answer, raised through a client
        ├── InteractionNotFound             a miss where the mode forbids a live call
        ├── UnreadableEntry                 the entry is there and cannot be read
        ├── ContractError                   the answer is not what the contract asks for
        ├── NotStored                       the answer came and could not be judged or written
        ├── NetworkRefusal   (also ConnectionRefusedError)   a connection that a sealed session does not open
        └── ChildError       (also Exception)   a child process said something that cannot be read

A refusal stands outside `Exception`, as pytest's own outcomes do: SDKs retry and rename every `Exception` (anthropic
3 attempts, openai 2.x "Connection error."). A `NetworkRefusal` is the one exception: it concerns what is no model call,
and whose caller is prepared for a network that is down. The parts of every error are its `args`, so that it pickles.
In a TaskGroup or a trio nursery a refusal arrives inside a `BaseExceptionGroup`.
"""

from __future__ import annotations

import errno

from onetake.model import Response, Violation


class OnetakeError(BaseException):
    """Root of every error that onetake raises.

    `exit_code` is what a command or a program ends with because of it; of several the highest counts.
    """

    exit_code = 1

    @property
    def class_name(self) -> str:
        """The name of its class, as reports and `--json` have it: that of a twin is the plain one's."""
        return type(self).__name__.removesuffix("AsException")


class UsageError(OnetakeError, Exception):
    """The call, the settings or the contract is wrong; says what would be right."""

    exit_code = 2


class StoreError(OnetakeError, Exception):
    """The store cannot be read or written."""

    exit_code = 5


class FormatError(OnetakeError, Exception):
    """The bytes of an entry are damaged, or of a version this onetake does not know; says the remedy."""

    exit_code = 5


class NewerFormatError(FormatError):
    """The bytes of an entry are of a version that only a newer onetake knows."""


class AdapterError(OnetakeError, Exception):
    """A client cannot be intercepted as it is installed."""

    exit_code = 2


class Refusal(OnetakeError):
    """Our no to a request or to an answer.

    `args` are one-screen texts, secrets scrubbed and untrusted parts made safe to print; those of a `ContractError` and
    a `NotStored` hold the response too, which neither `str` nor `repr` shows.
    """

    recordable = False
    """Whether mode `new_episodes` would record what is missing here, so that nothing else need be mended first."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def as_exception(self) -> Refusal:
        """Return a twin that is also an `Exception`, for what hangs or stops at anything else.

        Source: `multiprocessing.pool.worker` catches `Exception` only; any other error kills it and loses the job. So
        does pytest while it tears fixtures down; those that are left are not run.
        """
        twin: type[Refusal] = _TWINS.get(type(self), type(self))
        made = twin(*self.args)
        made.recordable = self.recordable
        return made


class InteractionNotFound(Refusal):
    """A miss where the mode forbids a live call.

    Args:
        reason: One line: why there is no answer (absent, exhausted, stale, closed session, …).
        asked: The request in one line.
        looked: Where we looked.
        nearest: The nearest entry and how it differs; several lines, or empty.
        remedy: What mends it in this mode; several lines, or empty.
    """

    exit_code = 6

    def __init__(self, reason: str, asked: str, looked: str = "", nearest: str = "", remedy: str = "") -> None:
        super().__init__(reason, asked, looked, nearest, remedy)

    def __str__(self) -> str:
        reason, asked, looked, nearest, remedy = self.args
        lines = [f"{reason}: {asked}"]
        for title, text in (("looked in", looked), ("nearest", nearest), ("to mend it", remedy)):
            if text:
                lines.append(f"  {title}: " + text.replace("\n", "\n    "))
        return "\n".join(lines)


class UnreadableEntry(Refusal):
    """An entry is there and cannot be read; it is never treated as absent.

    Args:
        where: The entry's place.
        why: What is wrong with it.
        remedy: What to do about it.
    """

    exit_code = 5

    def __init__(self, where: str, why: str, remedy: str = "") -> None:
        super().__init__(where, why, remedy)

    def __str__(self) -> str:
        where, why, remedy = self.args
        return f"unreadable entry: {where}\n  {why}" + (f"\n  to mend it: {remedy}" if remedy else "")


class ContractError(Refusal):
    """An answer that may not become an entry.

    Args:
        kind: `json`, `violation`, `length`, `refusal`, `cut` or `secret`.
        asked: The request in one line.
        violations: What failed.
        response: The response, with every secret already scrubbed.
        aside: Where the reject lies, or empty.
        contract: The contract's name, or empty.
        said: How a refusal of the model begins, or empty.
        remedy: What mends it; one line, or empty.
    """

    def __init__(
        self,
        kind: str,
        asked: str,
        violations: tuple[Violation, ...] = (),
        response: Response | None = None,
        aside: str = "",
        contract: str = "",
        said: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(kind, asked, violations, response, aside, contract, said, remedy)

    @property
    def kind(self) -> str:
        """The reject's kind: `json`, `violation`, `length`, `refusal`, `cut` or `secret`."""
        return str(self.args[0])

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The failed checks; empty for a kind that has none."""
        found: tuple[Violation, ...] = self.args[2]
        return found

    @property
    def response(self) -> Response | None:
        """The response that was refused, for a program that repairs or logs it."""
        response: Response | None = self.args[3]
        return response

    def __str__(self) -> str:
        kind, asked, violations, _, aside, contract, said, remedy = self.args
        lines = [f"answer refused ({kind}" + (f", contract {contract}" if contract else "") + f"): {asked}"]
        lines += [f"  {violation}" for violation in violations[:10]]
        if len(violations) > 10:
            lines.append(f"  and {len(violations) - 10} more")
        for title, text in (("the model said", said), ("kept aside", aside), ("to mend it", remedy)):
            if text:
                lines.append(f"  {title}: {text}")
        return "\n".join(lines)


class NotStored(Refusal):
    """An answer came and could not be judged or written; the SDK must not ask, and pay, again.

    Args:
        asked: The request in one line.
        why: What the store said, or what broke.
        response: The answer as it came, its secrets too, for a program that saves it; never printed.
    """

    exit_code = 5

    def __init__(self, asked: str, why: str, response: Response | None = None) -> None:
        super().__init__(asked, why, response)

    @property
    def response(self) -> Response | None:
        """The answer as it came, its secrets too: it is on no disk, so nothing is left out."""
        response: Response | None = self.args[2]
        return response

    def __str__(self) -> str:
        asked, why, _ = self.args
        return f"the answer could not be stored: {asked}\n  {why}"


class NetworkRefusal(Refusal, ConnectionRefusedError):
    """A connection, or a question for a host's address, that a sealed session does not let out.

    Args:
        asked: What was tried, in one line: `a connection to db.example.com:5432`.
        client: Who tried: the client's package, else the module that called the socket.
        session: The sealed session.
        remedy: What mends it; several lines, or empty.
    """

    exit_code = 6

    def __init__(self, asked: str, client: str, session: str, remedy: str = "") -> None:
        super().__init__()
        self.args = asked, client, session, remedy
        # What callers of sockets look at: `OSError` would take it, and a file's name, from what it is made with.
        self.errno = errno.ECONNREFUSED
        self.strerror = str(self)

    @property
    def client(self) -> str:
        """The client's package, else the module that called the socket."""
        return str(self.args[1])

    def __str__(self) -> str:
        asked, client, session, remedy = self.args
        lines = [f"refused by a sealed session: {asked}, by {client}", f"  session: {session}"]
        if remedy:
            lines.append("  to mend it: " + remedy.replace("\n", "\n    "))
        return "\n".join(lines)


class ChildError(Refusal, Exception):
    """A child process of a session said something that cannot be read, so nobody knows what was refused there.

    Args:
        place: The file.
        why: What is wrong with it.
    """

    exit_code = 5

    def __init__(self, place: str, why: str) -> None:
        super().__init__(place, why)

    def __str__(self) -> str:
        place, why = self.args
        return f"a child process of this session said something that cannot be read: {place}\n  {why}"


class InteractionNotFoundAsException(InteractionNotFound, Exception):
    """`InteractionNotFound` that is also an `Exception`."""


class UnreadableEntryAsException(UnreadableEntry, Exception):
    """`UnreadableEntry` that is also an `Exception`."""


class ContractErrorAsException(ContractError, Exception):
    """`ContractError` that is also an `Exception`."""


class NotStoredAsException(NotStored, Exception):
    """`NotStored` that is also an `Exception`."""


_TWINS: dict[type[Refusal], type[Refusal]] = {
    InteractionNotFound: InteractionNotFoundAsException,
    UnreadableEntry: UnreadableEntryAsException,
    ContractError: ContractErrorAsException,
    NotStored: NotStoredAsException,
}
