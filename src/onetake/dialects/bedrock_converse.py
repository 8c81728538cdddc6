"""Amazon Bedrock Converse, whole and streamed, of any model.

How an answer is put together and read is in `converse_blocks`.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import frame_error
from onetake.dialects.asked import path_model
from onetake.dialects.converse_blocks import LENGTH_FINISH, REFUSAL_FINISH, assembled, promises, reading
from onetake.events import Event, events, framing
from onetake.model import Choice, Request, Response
from onetake.picking import document

_PATH = re.compile(r"/model/(?P<model>.+)/converse(?:-stream)?$")


class BedrockConverse:
    """The dialect of `POST …/model/<model>/converse` and `…/converse-stream`."""

    name = "bedrock-converse"
    version = 1
    operation = "converse"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path is one of the two, on any host, under any prefix."""
        return method == "POST" and _PATH.search(urlsplit(url).path) is not None

    def model_asked(self, request: Request) -> str | None:
        """Return the model's id or ARN, which is in the path."""
        return path_model(request.url, _PATH)

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is `messageStop`.

        The usage comes behind it, in `metadata`: a caller that leaves between the two has the whole answer.
        """
        return event.name == "messageStop"

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a body, or put it together from the events of a stream."""
        if not framing(response.headers, response.body):
            return reading(document(response.body))
        streamed = events(response)
        answer = assembled((event.name, document(event.data)) for event in streamed)
        return reading(answer, frame_error(streamed), terminal=any(map(self.is_terminal, streamed)))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the output format's schema, which is always enforced, and the tools', where `strict` is true."""
        return tuple(promises(document(request.body)))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the answer."""
        return choice.finish in LENGTH_FINISH

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether a guardrail or a filter stopped the answer."""
        return choice.finish in REFUSAL_FINISH


DIALECT = BedrockConverse()
