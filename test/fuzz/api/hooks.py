"""What schemathesis cannot know of a request that is meant to be right. Wrong ones are left as they are."""

import uuid

import schemathesis

# Parameters that are refused together: the first is dropped.
APART = [("name", "order"), ("sessionsonly", "streamsonly")]


@schemathesis.hook
def map_case(context, case):
    mode = getattr(getattr(case.meta, "generation", None), "mode", None)
    # The examples of the document itself come without a mode.
    if mode is not None and mode.value != "positive":
        return case
    query = case.query or {}
    for first, second in APART:
        if first in query and second in query:
            del query[first]
    # A cursor is taken from an answer, never made up.
    if "cursor" in query:
        del query["cursor"]
    # For one request and its repeats; another request takes another key.
    for name in list(case.headers or {}):
        if name.lower() == "idempotency-key":
            case.headers[name] = str(uuid.uuid4())
    return case
