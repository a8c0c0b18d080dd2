"""Bodies that leave earlier turns to the provider.

Law: such a body is never folded. The turns that the provider adds are neither seen nor weighed here, and a result in
the body may answer a call that is among them.
"""

from __future__ import annotations

from yohaku.config.settings import Notice
from yohaku.core.engine import Outcome
from yohaku.core.verdict import Fits, LeftAlone, TooBig
from yohaku.core.view import View
from yohaku.core.weigh import Weigher


def leave_alone(planned: Outcome, field: str, weigher: Weigher, limit: int) -> Outcome:
    """Return the outcome for a body without any fold; as it was planned, if it would not even fit folded.

    `limit`: tokens as the weigher counts them.
    """
    if isinstance(planned.verdict, TooBig):
        return planned
    view = View(planned.view.history)
    ledger = weigher.ledger(view.shown)
    folds = planned.view.chapters or planned.view.live
    return Outcome(view, ledger, ledger, LeftAlone(field, ledger.total > limit) if folds else Fits())


def notice_of_state(verdict: LeftAlone, tokens: int, limit: int) -> Notice:
    """Return what users are told; `tokens` and `limit` as the provider counts them."""
    held = f"{verdict.field}: the provider holds earlier turns of this conversation, so that it is left as it is"
    remedy = "to have it folded, send all of it without that field"
    facts = {"field": verdict.field}
    if verdict.over_limit:
        over = f"it has {tokens:,} tokens, the limit is {limit:,}, and the provider may refuse it"
        facts |= {"tokens": f"{tokens:,}", "limit": f"{limit:,}"}
        return Notice("server_state_over", f"{held}; {over}; {remedy}", facts)
    return Notice("server_state", f"{held}; {remedy}", facts)
