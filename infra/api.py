"""The API: an HTTP API before the functions that answer requests, with the authorizer, limits, a log, and a domain."""

from collections.abc import Mapping
from typing import Final, cast

from aws_cdk import ArnFormat, Aws, CfnOutput, Duration, Fn, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigatewayv2_authorizers import HttpLambdaAuthorizer, HttpLambdaResponseType
from constructs import Construct

from infra import names, routes
from infra.acknowledgements import acknowledge
from infra.functions import MemoryFunction
from infra.log_groups import make_log_group
from infra.routes import ApiRoute, TokenCheck
from infra.settings import Settings

_IDENTITY_SOURCE: Final = "$request.header.Authorization"
# No path: a client may have chosen the id in it. No address: the token says who asked.
_LOGGED_TEXTS: Final = {
    "requestId": "$context.requestId",
    "routeKey": "$context.routeKey",
    "integrationLatency": "$context.integrationLatency",
    "integrationError": "$context.integrationErrorMessage",
    "authorizerError": "$context.authorizer.error",
    "tokenId": "$context.authorizer.token_id",
}
# Every request has these, so they may be written as numbers, of which metrics are made.
_LOGGED_NUMBERS: Final = {
    "requestTime": "$context.requestTimeEpoch",
    "status": "$context.status",
    "responseLatency": "$context.responseLatency",
    "responseLength": "$context.responseLength",
}


class MemoryApi(Construct):
    """The HTTP API.

    Attributes:
        api: the API itself.
        access_log: one JSON object for each request.
        url: where clients reach it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        functions: Mapping[str, MemoryFunction],
        authorizer: MemoryFunction,
    ) -> None:
        super().__init__(scope, id)
        self.api = apigateway.HttpApi(
            self,
            "Api",
            api_name=Stack.of(self).stack_name,
            description="s3-agent-memory: long-term memory for agents",
            create_default_stage=False,
            cors_preflight=_cors(settings),
        )
        self.access_log = make_log_group(
            self,
            "AccessLog",
            retention_days=settings.log_retention_days,
            # Logs of this name do not use up the account's room for policies of logs.
            name=f"/aws/vendedlogs/apis/{Stack.of(self).stack_name}-{Aws.ACCOUNT_ID}",
        )
        stage = self._add_stage(settings)
        self._add_routes(functions, _make_authorizers(authorizer, settings))
        own_url = self._add_domain(settings, stage) if settings.domain_name else self.api.api_endpoint
        self.url = settings.public_url or own_url

    @property
    def host(self) -> str:
        """The host name that API Gateway gave it, which is what something in front of it calls."""
        # An endpoint is "https://" and the host.
        return Fn.select(2, Fn.split("/", self.api.api_endpoint))

    def _add_stage(self, settings: Settings) -> apigateway.HttpStage:
        stage = apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(
                rate_limit=settings.throttle_rate, burst_limit=settings.throttle_burst
            ),
        )
        resource = cast("apigateway.CfnStage", stage.node.default_child)
        resource.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=_arn_without_streams(self.access_log), format=_access_log_format()
        )
        acknowledge(
            stage,
            "Serverless-APIGWStructuredLogging",
            reason="A line is JSON once it is filled in: numbers have no quotes, so that metrics can be made of them.",
        )
        return stage

    def _add_routes(
        self,
        functions: Mapping[str, MemoryFunction],
        authorizers: Mapping[TokenCheck, HttpLambdaAuthorizer],
    ) -> None:
        behind = {
            name: integrations.HttpLambdaIntegration(
                f"{function.spec.construct_id}Integration",
                function.target,
                payload_format_version=apigateway.PayloadFormatVersion.VERSION_2_0,
                scope_permission_to_route=False,
            )
            for name, function in functions.items()
        }
        usual = authorizers[TokenCheck.REMEMBERED]
        self._add_route(apigateway.HttpRouteKey.DEFAULT, behind[routes.DEFAULT_FUNCTION], usual)
        for route in routes.ROUTES:
            key = apigateway.HttpRouteKey.with_(route.path, apigateway.HttpMethod[route.method])
            added = self._add_route(key, behind[route.function], authorizers.get(route.token_check))
            if route.token_check is TokenCheck.NEVER:
                _acknowledge_public(added, route)

    def _add_route(
        self,
        key: apigateway.HttpRouteKey,
        integration: integrations.HttpLambdaIntegration,
        authorizer: HttpLambdaAuthorizer | None,
    ) -> apigateway.HttpRoute:
        return apigateway.HttpRoute(
            self,
            f"Route {key.key}",
            http_api=self.api,
            route_key=key,
            integration=integration,
            authorizer=authorizer,
        )

    def _add_domain(self, settings: Settings, stage: apigateway.HttpStage) -> str:
        certificate = acm.Certificate.from_certificate_arn(self, "Certificate", str(settings.certificate_arn))
        domain = apigateway.DomainName(
            self,
            "Domain",
            domain_name=str(settings.domain_name),
            certificate=certificate,
            security_policy=apigateway.SecurityPolicy.TLS_1_2,
        )
        apigateway.ApiMapping(self, "Mapping", api=self.api, domain_name=domain, stage=stage)
        output = CfnOutput(
            self,
            "DomainTarget",
            value=domain.regional_domain_name,
            description="what a CNAME record of the domain must point at",
        )
        output.override_logical_id(names.CUSTOM_DOMAIN_TARGET)
        return f"https://{settings.domain_name}"


def _cors(settings: Settings) -> apigateway.CorsPreflightOptions:
    return apigateway.CorsPreflightOptions(
        allow_origins=list(settings.cors_allow_origins),
        allow_methods=[apigateway.CorsHttpMethod[method] for method in routes.CORS_ALLOW_METHODS],
        allow_headers=list(routes.CORS_ALLOW_HEADERS),
        expose_headers=list(routes.CORS_EXPOSE_HEADERS),
        max_age=Duration.seconds(routes.CORS_MAX_AGE_SECONDS),
    )


def _make_authorizers(authorizer: MemoryFunction, settings: Settings) -> Mapping[TokenCheck, HttpLambdaAuthorizer]:
    """Return the two ways in which the one authorizer function is asked."""
    return {
        # The answer depends on the token alone, so it serves for every route. Without the header the gateway says 401.
        TokenCheck.REMEMBERED: HttpLambdaAuthorizer(
            "Tokens",
            authorizer.function,
            authorizer_name="tokens",
            response_types=[HttpLambdaResponseType.SIMPLE],
            identity_source=[_IDENTITY_SOURCE],
            results_cache_ttl=Duration.seconds(settings.token_cache_seconds),
        ),
        # Only what has an identity source can be remembered, and whoever lacks the header would not get through.
        TokenCheck.ALWAYS: HttpLambdaAuthorizer(
            "EveryRequest",
            authorizer.function,
            authorizer_name="every-request",
            response_types=[HttpLambdaResponseType.SIMPLE],
            identity_source=[],
            results_cache_ttl=Duration.seconds(0),
        ),
    }


def _access_log_format() -> str:
    texts = [f'"{name}":"{variable}"' for name, variable in _LOGGED_TEXTS.items()]
    numbers = [f'"{name}":{variable}' for name, variable in _LOGGED_NUMBERS.items()]
    return "{" + ",".join((*texts, *numbers)) + "}"


def _arn_without_streams(group: logs.LogGroup) -> str:
    return Stack.of(group).format_arn(
        service="logs",
        resource="log-group",
        resource_name=group.log_group_name,
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )


def _acknowledge_public(route: apigateway.HttpRoute, spec: ApiRoute) -> None:
    acknowledge(
        route,
        "AwsSolutions-APIG4",
        reason=f"{spec.method} {spec.path} tells nothing about memories: it must work before a client has a token.",
    )
