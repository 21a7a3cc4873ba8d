"""Identity: whose tokens are accepted besides those of the store, as environment of the functions that look at them.

Either an identity provider that exists, or a user pool of this stack. Amazon Cognito cannot register clients, so one
public client is made beforehand, and the MCP endpoint hands it to every client that wants to register.
"""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Aws, Duration, RemovalPolicy, Stack
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra import names
from infra.acknowledgements import acknowledge
from infra.settings import Settings

# Of hosted connectors, and of the inspector on a developer's machine.
REDIRECT_URIS: Final = (
    "https://claude.ai/api/mcp/auth_callback",
    "https://claude.com/api/mcp/auth_callback",
    "http://localhost:6274/oauth/callback",
)
RESOURCE_SERVER: Final = "memory"
_SCOPES: Final = {
    "read": "Read and search memories",
    "write": "Store, change and forget memories",
    "erase": "Erase memories with all their traces",
}
_ACCESS_TOKEN_VALIDITY: Final = Duration.hours(1)
_REFRESH_TOKEN_VALIDITY: Final = Duration.days(90)
_PASSWORD_LENGTH_MIN: Final = 14


def given_environment(settings: Settings) -> Mapping[str, str]:
    """Return what functions must know of the identity provider of the settings; nothing if there is none."""
    values = {
        names.ENV_OIDC_ISSUER: settings.oidc_issuer,
        names.ENV_OIDC_AUDIENCE: " ".join(settings.oidc_audience),
        names.ENV_OIDC_JWKS_URL: settings.oidc_jwks_url,
        names.ENV_OIDC_NAMESPACE: settings.oidc_namespace,
        names.ENV_OIDC_SCOPES: " ".join(settings.oidc_scopes),
        names.ENV_OIDC_CLIENT_ID: " ".join(settings.oidc_client_id),
        names.ENV_OIDC_AUTHORIZATION_URL: settings.oidc_authorization_url,
        names.ENV_OIDC_TOKEN_URL: settings.oidc_token_url,
        names.ENV_OIDC_REDIRECT_URIS: " ".join(settings.oidc_redirect_uris),
    }
    return {name: value for name, value in values.items() if value}


class MemoryUserPool(Construct):
    """People who may log in, whom an administrator adds; each has memories of his own.

    Attributes:
        pool: the user pool.
        client: the public client for all who register.
        environment: what functions must know of it.
    """

    def __init__(self, scope: Construct, id: str, *, settings: Settings) -> None:
        super().__init__(scope, id)
        self.pool = self._make_pool(settings)
        acknowledge(
            self.pool,
            "AwsSolutions-COG2",
            reason="Everybody may set up a second factor; who runs the pool decides whether everybody must.",
        )
        acknowledge(
            self.pool,
            "AwsSolutions-COG8",
            reason="The plus plan costs something for each person; accounts are made by an administrator only.",
        )
        domain = self._make_domain(settings)
        scopes = [
            cognito.ResourceServerScope(scope_name=name, scope_description=text) for name, text in _SCOPES.items()
        ]
        server = self.pool.add_resource_server("Memory", identifier=RESOURCE_SERVER, scopes=scopes)
        redirect_uris = settings.oidc_redirect_uris or REDIRECT_URIS
        self.client = self.pool.add_client(
            "Client",
            generate_secret=False,
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(authorization_code_grant=True),
                scopes=[cognito.OAuthScope.resource_server(server, item) for item in scopes],
                callback_urls=list(redirect_uris),
            ),
            supported_identity_providers=[cognito.UserPoolClientIdentityProvider.COGNITO],
            access_token_validity=_ACCESS_TOKEN_VALIDITY,
            refresh_token_validity=_REFRESH_TOKEN_VALIDITY,
            enable_token_revocation=True,
            prevent_user_existence_errors=True,
        )
        self.environment: Mapping[str, str] = {
            names.ENV_OIDC_ISSUER: self.pool.user_pool_provider_url,
            names.ENV_OIDC_SCOPES: " ".join(f"{RESOURCE_SERVER}/{name}={name}" for name in _SCOPES),
            names.ENV_OIDC_CLIENT_ID: self.client.user_pool_client_id,
            names.ENV_OIDC_AUTHORIZATION_URL: f"{domain.base_url()}/oauth2/authorize",
            names.ENV_OIDC_TOKEN_URL: f"{domain.base_url()}/oauth2/token",
            names.ENV_OIDC_REDIRECT_URIS: " ".join(redirect_uris),
            **({names.ENV_OIDC_NAMESPACE: settings.oidc_namespace} if settings.oidc_namespace else {}),
        }

    def _make_pool(self, settings: Settings) -> cognito.UserPool:
        return cognito.UserPool(
            self,
            "Pool",
            self_sign_up_enabled=False,
            sign_in_aliases=cognito.SignInAliases(email=True),
            sign_in_case_sensitive=False,
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            password_policy=cognito.PasswordPolicy(
                min_length=_PASSWORD_LENGTH_MIN,
                require_lowercase=True,
                require_uppercase=True,
                require_digits=True,
                require_symbols=True,
            ),
            mfa=cognito.Mfa.OPTIONAL,
            mfa_second_factor=cognito.MfaSecondFactor(otp=True, sms=False),
            # Tokens name the MCP endpoint as their audience only from this plan on.
            feature_plan=cognito.FeaturePlan.ESSENTIALS,
            deletion_protection=settings.removal_policy == "retain",
            removal_policy=RemovalPolicy.RETAIN if settings.removal_policy == "retain" else RemovalPolicy.DESTROY,
        )

    def _make_domain(self, settings: Settings) -> cognito.UserPoolDomain:
        # A prefix is taken once in a region, by whatever account.
        usual_prefix = f"{Stack.of(self).stack_name.lower()}-{Aws.ACCOUNT_ID}"
        prefix = settings.cognito_domain_prefix or usual_prefix
        return self.pool.add_domain("Domain", cognito_domain=cognito.CognitoDomainOptions(domain_prefix=prefix))
