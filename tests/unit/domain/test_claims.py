"""How claims of a token become a namespace: injective, safe, and readable where it can be."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from s3_agent_memory.domain.claims import NamespaceTemplate, encode_claim
from s3_agent_memory.domain.keys import parse_namespace
from s3_agent_memory.errors import ValidationError

# Values that a careless encoding would mix up: escapes of escapes, prefixes of the special forms, reserved words.
PIECES = [
    "a",
    "A",
    ".",
    "..",
    "+",
    "++",
    "x",
    "h",
    "+7C",
    "|",
    "/",
    "%2F",
    "~",
    "semantic",
    "é",
    "e\u0301",
    "\x00",
    " ",
]
CLAIMS = st.one_of(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), st.text(min_size=1))


@pytest.mark.parametrize(
    ("claim", "segment"),
    [
        ("alice", "alice"),
        ("alice@example.com", "alice@example.com"),
        ("248289761001", "248289761001"),
        ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
        ("auth0|abc", "auth0+7Cabc"),
        ("alice+work@example.com", "alice+2Bwork@example.com"),
        ("a/b", "a+2Fb"),
        ("../bob", "x++2E.+2Fbob"),
        ("semantic", "x++73emantic"),
        ("name.", "name+2E"),
        ("é", "x++C3+A9"),
    ],
)
def test_a_claim_stays_readable_where_it_can(claim, segment):
    assert encode_claim(claim) == segment


@given(CLAIMS)
@example("x" * 2_048)
@example("." * 100)
def test_every_claim_becomes_a_valid_segment(claim):
    try:
        claim.encode()
    except UnicodeEncodeError:
        return
    segment = encode_claim(claim)
    assert parse_namespace(["users", segment]) == ("users", segment)


@given(CLAIMS, CLAIMS)
def test_two_claims_never_share_a_segment(one, other):
    assert (encode_claim(one) == encode_claim(other)) == (one == other)


def test_short_combinations_of_awkward_pieces_never_share_a_segment():
    values = {"".join(pieces) for count in (1, 2, 3) for pieces in itertools.product(PIECES, repeat=count)}
    assert len({encode_claim(value) for value in values}) == len(values)


def test_an_escaped_form_is_not_the_claim_that_looks_like_it():
    for claim in ("auth0|abc", "../bob", "semantic", "y" * 200):
        assert encode_claim(encode_claim(claim)) != encode_claim(claim)


def test_a_segment_of_the_plain_form_can_be_decoded_again():
    assert bytes.fromhex("7C").decode() == "|"
    assert encode_claim("a|b").replace("+7C", "|") == "a|b"


@pytest.mark.parametrize("claim", ["", "x" * 2_049, "\ud800"])
def test_a_claim_that_cannot_name_anything_is_refused(claim):
    with pytest.raises(ValidationError):
        encode_claim(claim)


def test_a_template_takes_claims_by_name():
    template = NamespaceTemplate.parse("tenants/{custom:tenant}/users/{sub}")
    claims = {"custom:tenant": "acme", "sub": "auth0|7", "email": "x@y"}
    assert template.fill(claims) == ("tenants", "acme", "users", "auth0+7C7")


@pytest.mark.parametrize("claims", [{}, {"sub": None}, {"sub": 7}, {"sub": ["a"]}, {"sub": ""}, {"Sub": "a"}])
def test_a_token_without_the_claim_has_no_namespace(claims):
    with pytest.raises(ValidationError):
        NamespaceTemplate.parse("users/{sub}").fill(claims)


def test_claims_that_are_too_long_together_are_refused():
    template = NamespaceTemplate.parse("/".join(f"{{c{number}}}" for number in range(5)))
    with pytest.raises(ValidationError):
        template.fill({f"c{number}": "z" * 70 for number in range(5)})


@pytest.mark.parametrize(
    "text", ["", "users", "users/sub", "u-{sub}", "{a}{b}", "users/{}", "users//{sub}", "/{sub}", "{a/b}"]
)
def test_a_template_that_would_mix_people_up_is_refused(text):
    with pytest.raises(ValidationError):
        NamespaceTemplate.parse(text)
