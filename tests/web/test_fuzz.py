"""Fuzzing the API from its own description finds no server error; a longer run is in benchmarks/load.py."""

import httpx
import pytest
from benchmarks.fuzz import fuzz_api

from tagsight.index import Index
from tests.web.serving import serve_in_thread

EXAMPLES = 5


@pytest.mark.slow
def test_no_request_made_from_the_description_is_a_server_error(index_copy: Index) -> None:
    with serve_in_thread(index_copy) as address:
        found = fuzz_api(address, n_examples=EXAMPLES)
        described = httpx.get(f"{address}/openapi.json", trust_env=False).json()["paths"]
    assert len(found) == sum(map(len, described.values())) >= 12
    for operation, statuses in found.items():
        assert statuses, operation
        assert max(statuses) < 500, f"{operation}: {dict(statuses)}"
    answered = [operation for operation, statuses in found.items() if 200 in statuses]
    assert len(answered) >= 8, found
