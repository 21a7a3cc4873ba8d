"""What dice would hardly find: the product survives every story, and a story's mistake is noticed as what it is."""

import pytest

from tests.simulation.mutations import MUTATIONS, SCRIPTED, applied
from tests.simulation.stories import STORIES
from tests.simulation.world import ViolationError

SYMPTOMS = {
    "erasure_purges_no_index": "a segment knows id-0 after its erasure",
    "erasure_without_a_fence": "a segment knows id-0 after its erasure",
    "no_log_grace": "recall shows .* at v0, acknowledged was v1",
    "old_uploads_committed": "the manifest names .*, which does not exist",
    "tombstone_falls": "the truth of id-0 falls",
    "stamp_inside_the_fold": "recall shows .* at v0, acknowledged was v1",
    "stamp_inside_the_swap": "is gone .* ms after its manifest was read",
    "no_fence_before_orphans": "the manifest names .*, which does not exist",
    "swaps_doubted_for_ever": "the manifest names .*, which does not exist",
    "drop_deletion_rows_early": "the index shows id-0, which was forgotten",
    "old_vectors_committed": "the manifest names .*, which does not exist",
    "repair_takes_in_the_log": "recall shows .* at v0, acknowledged was v1",
}


@pytest.mark.parametrize("name", STORIES)
def test_the_product_survives(name: str) -> None:
    STORIES[name]()


@pytest.mark.parametrize("name", STORIES)
def test_the_mistake_is_noticed(name: str) -> None:
    with applied(name), pytest.raises(ViolationError, match=SYMPTOMS[name]):
        STORIES[name]()


def test_every_mutation_that_dice_do_not_draw_has_a_story() -> None:
    assert {name for name, mutation in MUTATIONS.items() if mutation.seed_count_max == SCRIPTED} <= set(STORIES)
