"""Every operation of the OpenAPI document against a live server with made-up input: no 5xx, no undocumented status."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from served import Server, serving

pytestmark = pytest.mark.slow

LEFT_OUT = ("/stream", "/poll", "/providers/{name}/models")  # they wait, or ask other servers
CHECKS: list[CheckFunction] = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    limits = {"PROCTOR_REQUESTS_PER_MINUTE": "1000000", "PROCTOR_MOST_QUEUED": "1000000"}
    with serving(home, "--no-worker", **limits) as running:
        running.submit("simulator", "sim")
        yield running


@pytest.fixture(scope="module")
def api(server: Server) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


def test_the_document_is_complete(server: Server) -> None:
    document = server.get("/openapi.json")
    assert len(document["paths"]) > 25
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            assert "422" not in operation["responses"] and "400" in operation["responses"]


def test_no_answer_is_undocumented(api: schemathesis.BaseSchema) -> None:
    faults, operations = [], 0
    for found in api.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(LEFT_OUT):
            continue
        operations += 1
        try:
            _asked(operation)
        except (AssertionError, BaseExceptionGroup) as error:
            faults.append(f"{operation.label}: {error}"[:1500])
    assert operations > 20 and not faults, "\n\n".join(faults)


def _asked(operation: schemathesis.schemas.APIOperation) -> None:
    """A dozen made-up requests, the same in every run. Raises what the checks find."""

    @given(case=operation.as_strategy())
    @settings(
        max_examples=12,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKS, timeout=30)

    ask()
