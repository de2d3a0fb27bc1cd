"""What schemathesis cannot know of a request that is meant to be right. Wrong ones are left as they are."""

import uuid
from urllib.parse import urlencode

import schemathesis

# Parameters that are refused together: the first is dropped.
APART = [("name", "order"), ("sessionsonly", "streamsonly")]


# Beyond 16 KiB of address and headers the server answers 431 before any route is looked for.
LONGEST = 12_000


@schemathesis.hook
def filter_case(context, case):
    head = urlencode(case.query or {}, doseq=True) + urlencode(case.headers or {}) + urlencode(case.path_parameters or {})
    return len(head) <= LONGEST


@schemathesis.hook
def map_case(context, case):
    mode = getattr(getattr(case.meta, "generation", None), "mode", None)
    return case if mode is not None and mode.value != "positive" else mended(case)


@schemathesis.hook
def before_add_examples(context, examples):
    for case in examples:
        mended(case)


def mended(case):
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
