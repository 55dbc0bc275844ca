"""Requests that are generated from the API's own description, valid and invalid ones."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Err

PATIENCE = 120.0  # seconds to wait for an answer on a busy machine
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


def fuzz_api(address: str, *, n_examples: int, start: int = 0) -> dict[str, Counter[int]]:
    """The number of answers by operation and status, over `n_examples` requests of either kind.

    Random text is hardly ever a query and a random number hardly ever that of a photo, so in every second request words
    and numbers are replaced by existing ones.
    """
    with httpx.Client(base_url=address, trust_env=False) as client:
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
        known = cycle(list_known(client))
    schema.config.update(base_url=address)
    run = settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    found: dict[str, Counter[int]] = {}
    for result in schema.get_all_operations():
        if isinstance(result, Err):
            raise result.err()
        operation = result.ok()
        statuses = found.setdefault(f"{operation.method.upper()} {operation.path}", Counter())
        for mode in MODES:
            send = make_sender(statuses, known)
            with suppress(Unsatisfiable):  # an operation without parameters has no invalid requests
                seed(start)(run(given(operation.as_strategy(generation_mode=mode))(send)))()
    return found


def list_known(client: httpx.Client) -> list[dict[str, Any]]:
    """Existing values of this server, by the name of the parameter."""
    words = client.get("/api/words").json()
    nouns, adjectives = words["objects"], words["attributes"]
    queries = [f"{nouns[k % len(nouns)]}, {word} -{nouns[-1]}" for k, word in enumerate(adjectives)]
    queries += [*nouns, *(f"{word} {nouns[0]}" for word in adjectives)]
    photos = [photo["photo"] for photo in client.get("/api/photos").json()["photos"]]
    return [
        {"q": query, "photo": photos[k % len(photos)], "column": k, "number": k % 6, "factor": f"free-{1 + k % 4}"}
        for k, query in enumerate(queries)
    ]


def make_sender(statuses: Counter[int], known: Iterator[dict[str, Any]]) -> Callable[[Case], None]:
    """A function that sends a request and counts its answer."""

    def send(case: Case) -> None:
        if statuses.total() % 2:
            values = next(known)
            for given_values in (case.path_parameters, case.query):
                given_values.update({name: values[name] for name in given_values if name in values})
        statuses[case.call(timeout=PATIENCE).status_code] += 1

    return send
