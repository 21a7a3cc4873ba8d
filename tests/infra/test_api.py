"""The API: every route of the library is there, and behind the authorizer unless the library says otherwise."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from infra import names
from infra.function_table import FUNCTIONS
from s3_agent_memory.edge.http import api as http_api
from s3_agent_memory.edge.http.routes import ROUTES, Route
from s3_agent_memory.edge.mcp import endpoint as mcp_endpoint
from tests.infra.synthesis import Template, synthesise

API_ROUTE = "AWS::ApiGatewayV2::Route"
AUTHORIZER = "AWS::ApiGatewayV2::Authorizer"
# Each with the authorizer that is asked.
MCP_ROUTES = {
    "ANY /mcp": "every-request",
    "OPTIONS /mcp": None,
    "ANY /.well-known/{proxy+}": None,
    "ANY /register": None,
}


def routes_of(template: Template) -> dict[str, Any]:
    return {item["Properties"]["RouteKey"]: item["Properties"] for item in template.all(API_ROUTE).values()}


def key_of(route: Route) -> str:
    path = re.sub(r"<(\w+)>", r"{\1}", route.rule)
    return f"{route.method} {path}"


@pytest.mark.parametrize("route", ROUTES, ids=key_of)
def test_a_route_of_the_library_is_one_of_the_api(template: Template, route: Route) -> None:
    found = routes_of(template)[key_of(route)]
    assert found["AuthorizationType"] == ("NONE" if route.is_public else "CUSTOM")


def test_the_api_has_no_other_routes(template: Template) -> None:
    heads = {f"HEAD {route.rule}" for route in ROUTES if route.is_public}
    expected = {key_of(route) for route in ROUTES} | heads | {"$default", "OPTIONS /{proxy+}"} | set(MCP_ROUTES)
    assert set(routes_of(template)) == expected


@pytest.mark.parametrize(("key", "authorizer"), MCP_ROUTES.items())
def test_a_route_of_the_mcp_endpoint_is_public_or_asks_the_authorizer_every_time(
    template: Template, key: str, authorizer: str | None
) -> None:
    route = routes_of(template)[key]
    assert route["AuthorizationType"] == ("NONE" if authorizer is None else "CUSTOM")
    if authorizer is not None:
        assert template.all(AUTHORIZER)[route["AuthorizerId"]["Ref"]]["Properties"]["Name"] == authorizer
    assert function_behind(template, route) == "mcp_endpoint"


@pytest.mark.parametrize("key", ["$default", "POST /v1/memories", "GET /openapi.json", "OPTIONS /{proxy+}"])
def test_all_other_routes_are_the_http_apis(template: Template, key: str) -> None:
    assert function_behind(template, routes_of(template)[key]) == "http_api"


def function_behind(template: Template, route: Mapping[str, Any]) -> str:
    (integration_id,) = template.logical_ids(route["Target"])
    alias_id = template.all("AWS::ApiGatewayV2::Integration")[integration_id]["Properties"]["IntegrationUri"]["Ref"]
    (name,) = [spec.name for spec in FUNCTIONS if alias_id.startswith(f"{spec.construct_id}Alias")]
    return name


def test_the_routes_of_the_mcp_endpoint_are_those_that_its_function_serves() -> None:
    served = {names.MCP_PATH, names.REGISTRATION_PATH, names.WELL_KNOWN_PREFIX + "{proxy+}"}
    assert {key.partition(" ")[2] for key in MCP_ROUTES} == served


def test_what_matches_no_route_needs_a_token_too(template: Template) -> None:
    assert routes_of(template)["$default"]["AuthorizationType"] == "CUSTOM"


def test_the_default_stage_is_limited_and_logged(template: Template) -> None:
    stage = template.one("AWS::ApiGatewayV2::Stage")
    assert (stage["StageName"], stage["AutoDeploy"]) == ("$default", True)
    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 200, "ThrottlingRateLimit": 100}


def test_limits_are_settings() -> None:
    stage = synthesise(throttleRate="5", throttleBurst="7").one("AWS::ApiGatewayV2::Stage")
    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 7, "ThrottlingRateLimit": 5}


def test_a_line_of_the_access_log_is_json_without_paths_and_addresses(template: Template) -> None:
    form = template.one("AWS::ApiGatewayV2::Stage")["AccessLogSettings"]["Format"]
    line = json.loads(re.sub(r"\$context\.[A-Za-z_.]+", "1", form))
    assert (line["status"], line["responseLatency"], line["routeKey"]) == (1, 1, "1")
    assert not {"path", "ip", "sourceIp", "userAgent"} & set(line)
    assert "requestId" in line


def test_the_authorizer_answers_simply_and_is_remembered_by_token(template: Template) -> None:
    authorizer = template.one(AUTHORIZER, starts="ApiTokens")
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["AuthorizerResultTtlInSeconds"] == 60


def test_every_request_can_be_verified_anew() -> None:
    authorizer = synthesise(tokenCacheSeconds="0").one(AUTHORIZER, starts="ApiTokens")
    assert authorizer["AuthorizerResultTtlInSeconds"] == 0


def test_a_request_without_a_token_reaches_the_mcp_endpoint_which_says_where_to_get_one(template: Template) -> None:
    authorizer = template.one(AUTHORIZER, starts="ApiEveryRequest")
    # With an identity source the gateway would refuse it by itself, and only with one could it remember answers.
    assert authorizer["IdentitySource"] == []
    assert authorizer["AuthorizerResultTtlInSeconds"] == 0
    assert authorizer["EnableSimpleResponses"] is True
    tokens = template.one(AUTHORIZER, starts="ApiTokens")
    assert authorizer["AuthorizerUri"] == tokens["AuthorizerUri"]


def test_functions_are_called_by_their_aliases_with_payloads_of_format_2(template: Template) -> None:
    integrations = [item["Properties"] for item in template.all("AWS::ApiGatewayV2::Integration").values()]
    assert {item["PayloadFormatVersion"] for item in integrations} == {"2.0"}
    assert {item["IntegrationUri"]["Ref"] for item in integrations} == set(template.all("AWS::Lambda::Alias"))


def test_only_this_api_may_call_the_functions(template: Template) -> None:
    (api_id,) = template.all("AWS::ApiGatewayV2::Api")
    for resource in template.all("AWS::Lambda::Permission").values():
        permission = resource["Properties"]
        assert permission["Principal"] == "apigateway.amazonaws.com"
        assert api_id in set(template.logical_ids(permission["SourceArn"]))


def test_browsers_learn_from_the_gateway_what_they_learn_from_the_functions(template: Template) -> None:
    cors = template.one("AWS::ApiGatewayV2::Api")["CorsConfiguration"]
    said = [
        {name.lower(): value for name, value in {**module._CORS, **module._PREFLIGHT}.items()}
        for module in (http_api, mcp_endpoint)
    ]
    for key, name in (
        ("AllowHeaders", "access-control-allow-headers"),
        ("AllowMethods", "access-control-allow-methods"),
        ("ExposeHeaders", "access-control-expose-headers"),
        ("AllowOrigins", "access-control-allow-origin"),
    ):
        assert set(cors[key]) == {word for headers in said for word in headers[name].split(", ")}
    assert {str(cors["MaxAge"])} == {headers["access-control-max-age"] for headers in said}


def test_origins_are_a_setting() -> None:
    api = synthesise(corsAllowOrigins="https://a.example").one("AWS::ApiGatewayV2::Api")
    assert api["CorsConfiguration"]["AllowOrigins"] == ["https://a.example"]


def test_a_domain_of_ones_own_is_where_the_api_is_reached() -> None:
    template = synthesise(
        domainName="memory.example.org",
        certificateArn="arn:aws:acm:eu-central-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
    )
    assert template.outputs[names.API_URL]["Value"] == "https://memory.example.org"
    (domain_id,) = template.all("AWS::ApiGatewayV2::DomainName")
    assert domain_id in set(template.logical_ids(template.outputs[names.CUSTOM_DOMAIN_TARGET]["Value"]))
    configuration = template.one("AWS::ApiGatewayV2::DomainName")["DomainNameConfigurations"][0]
    assert configuration["SecurityPolicy"] == "TLS_1_2"
    assert template.one("AWS::ApiGatewayV2::ApiMapping")["Stage"]


def test_the_stack_tells_where_everything_is(template: Template) -> None:
    assert set(template.outputs) == {
        names.API_URL,
        names.API_ENDPOINT,
        names.MCP_URL,
        names.BUCKET_NAME,
        names.STORE_URL,
        f"Indexer{names.DEAD_LETTER_QUEUE_URL}",
        f"Embedder{names.DEAD_LETTER_QUEUE_URL}",
        f"Digester{names.DEAD_LETTER_QUEUE_URL}",
        names.DASHBOARD_NAME,
    }
