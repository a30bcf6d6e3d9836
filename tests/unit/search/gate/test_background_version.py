"""What the shipped prompts become is kept on disk under a version: when it changes, the version must change too."""

import hashlib
import json

from hybrid.prompting.content import MAX_PIECES, gate_pieces, terms_of_names, terms_of_words
from hybrid.search.gate import statistic
from hybrid.search.gate.background import searched_pieces, shipped_prompts
from hybrid.search.gate.identity import VERSION

KNOWN = {"1": "c5177f110e5703d9", "2": "68adba3b07e40394"}
"""Version → digest of everything that a background is made of besides the model."""


def test_the_version_stands_for_the_pieces_rules_and_constants():
    """Otherwise a kept background, and bars made of it, would belong to another statistic than the prompts."""
    made: list[object] = [statistic.CHAT_NEIGHBOURS, statistic.MIN_LOGIT, statistic.MAX_LOGIT]
    for prompt in shipped_prompts():
        if prompt.is_bank and prompt.is_talk:
            made.append(gate_pieces(prompt.text, MAX_PIECES))
        elif not prompt.is_bank:
            found = searched_pieces(prompt.text)
            made.append([(piece, terms_of_words(piece), terms_of_names(piece)) for piece in found])
    digest = hashlib.sha256(json.dumps(made).encode()).hexdigest()[:16]

    assert digest == KNOWN.get(VERSION), f"give hybrid.search.gate.identity a new VERSION, and it this digest: {digest}"
