"""The pages hang together: links lead somewhere, every page is found, commands and settings in them exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import unquote

import click
import pytest
import yaml

from onetake.batch.job import load_job
from onetake.cli import commands
from onetake.settings import load_settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "bench/README.md", *sorted(DOCS.rglob("*.md"))]
KINDS = ("tutorial", "how-to", "reference", "explanation")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """Return a page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    """Return where a page's own links lead, those into the web left out."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [unquote(target) for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the usual renderers make them."""
    found: dict[str, int] = {}
    made = set()
    for heading in re.findall(r"^#+ (.*?) *$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        made.add(slug if slug not in found else f"{slug}-{found[slug]}")
        found[slug] = found.get(slug, 0) + 1
    return made


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_to_a_page_and_to_a_heading_of_it(page):
    lost = []
    for link in links(page):
        place, _, anchor = link.partition("#")
        target = (page.parent / place) if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_the_index_leads_to_every_page():
    index = DOCS / "README.md"
    reached = {(DOCS / link.partition("#")[0]).resolve() for link in links(index)}
    pages = {page.resolve() for kind in KINDS for page in (DOCS / kind).glob("*.md")}
    assert pages - reached == set()
    assert (DOCS / "decisions").resolve() in reached
    assert index.resolve() in {(ROOT / link).resolve() for link in links(ROOT / "README.md")}


def test_every_page_has_one_title_and_lies_in_a_folder_of_its_kind():
    for page in PAGES:
        assert len(re.findall(r"^# ", prose(page), re.MULTILINE)) == 1, page
    assert {path.name for path in DOCS.iterdir()} == {*KINDS, "decisions", "README.md"}


# Commands


def console_lines():
    for page in PAGES:
        for block in re.findall(r"^```(?:console|bash)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                words = (
                    shlex.split(line.removeprefix("$ "), comments=True) if line.startswith(("$ ", "onetake ")) else []
                )
                while words and re.match(r"[A-Z_]+=", words[0]):
                    del words[0]
                if words[:1] == ["onetake"]:
                    yield pytest.param(words[1:], id=f"{named(page)}: {' '.join(words)}")


@pytest.mark.parametrize("words", list(console_lines()))
def test_every_command_that_is_shown_can_be_given(words):
    parsed(commands, words)


def parsed(command: click.Command, words: list[str]) -> None:
    """Parse a command line down to its last command, and run nothing of it."""
    context = command.make_context(command.name or "onetake", list(words), resilient_parsing=False)
    if isinstance(command, click.Group) and words:
        rest = [*context._protected_args, *context.args]
        name, inner, left = command.resolve_command(context, rest)
        assert inner is not None, f"there is no command {name}"
        parsed(inner, left)


def test_every_command_in_a_sentence_exists():
    told = {word for page in PAGES for word in re.findall(r"`onetake ([a-z]+)\b", prose(page))}
    assert told - set(commands.list_commands(None)) == set()


# Settings


def blocks_in(kind):
    for page in PAGES:
        for number, text in enumerate(
            re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        ):
            yield pytest.param(text, id=f"{named(page)} {number}")


@pytest.mark.parametrize("text", list(blocks_in("toml")))
def test_every_toml_block_is_read_as_what_it_is(tmp_path, text):
    if "entry-points" in text:
        pytest.skip("of a package, no settings")
    if "[ask]" in text:
        (tmp_path / "label.json").write_text("{}")
        (tmp_path / "label.schema.json").write_text("{}")
        (tmp_path / "job.toml").write_text(text, encoding="utf-8")
        assert load_job(tmp_path / "job.toml")
        return
    (tmp_path / "schemas").mkdir()
    name = "pyproject.toml" if "[tool." in text else "onetake.toml"
    (tmp_path / name).write_text(text, encoding="utf-8")
    load_settings(tmp_path / "any.py")


@pytest.mark.parametrize("text", list(blocks_in("yaml")))
def test_every_yaml_block_is_yaml(text):
    assert yaml.safe_load(text)


# Words

# One word for each thing; these are other people's words for ours. Where one of them is meant as they mean it: why.
UNUSED = r"\b(snapshots?|fixtures?|caches?|cached|backends?|persisters?|serializers?|serialisers?|recordings?)\b"
ALLOWED = {
    "fixture": "pytest's own",
    "fixtures": "pytest's own",
    "recording": "the verb, and the moment: 'a recording session', 'while recording'",
    "cache": "the disk's, in the bench; another library's own",
    "cached": "tokens, as the provider counts them",
}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_words_that_mean_our_things_otherwise_do_not_occur(page):
    text = re.sub(r"pytest-recording|no:cacheprovider|`[^`\n]*`", "", prose(page))
    found = {word.lower() for word in re.findall(UNUSED, text, re.IGNORECASE)}
    assert found - set(ALLOWED) == set()
    assert (
        re.findall(r"\b(?:a|the|each|every|this|one) recording(?! (?:mode|run|session|job|threads?)\b)[ ,.]", text)
        == []
    )
