"""`onetake pin`: entries that nothing prunes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from onetake.cli import output
from onetake.cli.entries import find_entries, load
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.model import Entry
from onetake.pins import Pins
from onetake.scrub import Scrubber
from onetake.settings import load_settings
from onetake.upkeep.amending import SecretThereError
from onetake.upkeep.noted import reason_of
from onetake.upkeep.pinning import pin as pin_entry
from onetake.upkeep.pinning import secret_there
from onetake.upkeep.pinning import unpin as unpin_entry
from onetake.writing import SecretLeftError


@click.command()
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@click.option("--reason", default="", help="Why; it is kept in the entry.")
@click.option("--remove", is_flag=True, help="Take the pin away again.")
@output.json_option()
@click.pass_context
def pin(context: click.Context, entries: tuple[str, ...], reason: str, remove: bool, as_json: bool) -> None:
    """Pin entries: `onetake prune` takes none of them, for no reason.

    ENTRY is a path, or the first 8 or more hex digits of a key, looked for below the settings' folder. A pin belongs to
    the answer: recorded anew, the entry has none. What is pinned for good stands in the setting `pinned`.
    """
    if remove and reason:
        raise UsageError("--remove takes a pin away, and goes without --reason")
    paths = {path.absolute(): path for path in find_entries(entries)}
    loaded = [(path, load(path)) for path in paths.values()]
    found = [_changed(path, entry, reason, remove=remove) for path, entry in loaded]
    if as_json:
        output.print_json({"entries": found})
    else:
        for one in found:
            output.say(f"{'pinned' if one['pinned'] else 'not pinned'}: {one['path']}")
            if one["why"]:
                output.say(f"  {one['why']}")
    context.exit(Exit.FINDINGS if any(one["why"] for one in found) else Exit.OK)


def _changed(path: Path, entry: Entry, reason: str, *, remove: bool) -> dict[str, Any]:
    """Pin an entry or take its pin away; returns what is so now, and why it is not as it was asked for."""
    settings = load_settings(path.absolute())
    said = reason_of(reason, Scrubber(settings.scrub))
    by_settings = Pins(settings.root, settings.pinned).why(path, replace(entry, provenance={})) if remove else ""
    try:
        done = unpin_entry(path, entry) if remove else pin_entry(path, entry, said)
        why = by_settings if done else "its file was changed meanwhile: try again"
    except SecretThereError:
        done, why = False, secret_there(path)
    except SecretLeftError:
        done, why = False, "the reason would hold a secret that cannot be scrubbed: say it in other words"
    pinned = bool(by_settings) if done and remove else done is not remove
    named = {"path": output.json_path(path), "key": entry.key, "ordinal": entry.ordinal}
    return {**named, "pinned": pinned, "why": why}
