"""Mistral's OCR: the text of a document's pages, or what was asked about the document.

Source: the types of the mistralai package 3.7.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import body_error
from onetake.dialects.asked import format_promise
from onetake.events import Event
from onetake.model import Answer, Choice, Request, Response
from onetake.picking import document, mappings, text


class MistralOCR:
    """The dialect of `POST …/v1/ocr`."""

    name = "mistral-ocr"
    version = 1
    operation = "ocr"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path ends in `/v1/ocr`, on any host, under any prefix."""
        return method == "POST" and urlsplit(url).path.rstrip("/").endswith("/v1/ocr")

    def model_asked(self, request: Request) -> str | None:
        """Return the `model` of the body."""
        return text(document(request.body).get("model")) or None

    def is_terminal(self, event: Event) -> bool:
        """Return False: nothing is streamed."""
        return False

    def read(self, request: Request, response: Response) -> Reading:
        """Take the text out of a response: the annotation of the document, where one was asked for, else its pages.

        Usage is counted in pages, which are no tokens.
        """
        body = document(response.body)
        return Reading(
            answer=Answer((Choice(_said(body) or None),)) if isinstance(body.get("pages"), list) else None,
            error=body_error(body),
            model=text(body.get("model")) or None,
        )

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the schema of the document's annotation; enforced only where `strict` is true."""
        return tuple(format_promise(document(request.body).get("document_annotation_format")))

    def is_length(self, choice: Choice) -> bool:
        """Return False: an answer does not say that a limit cut it."""
        return False

    def is_refusal(self, choice: Choice) -> bool:
        """Return whether there is a refusal: this API has no word for one."""
        return bool(choice.refusal)


DIALECT = MistralOCR()


def _said(body: dict[str, Any]) -> str:
    pages = (text(page.get("markdown")) for page in mappings(body.get("pages")))
    return text(body.get("document_annotation")) or "\n\n".join(filter(None, pages))
