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


def leave_alone(planned: Outcome, field: str, weigher: Weigher) -> Outcome:
    """Return the outcome for a body without any fold; as it was planned, if it would not even fit folded."""
    if isinstance(planned.verdict, TooBig):
        return planned
    view = View(planned.view.history)
    ledger = weigher.ledger(view.shown)
    folds = planned.view.chapters or planned.view.live
    return Outcome(view, ledger, ledger, LeftAlone(field) if folds else Fits())


def notice_of_state(field: str) -> Notice:
    text = (
        f"{field}: the provider holds earlier turns of this conversation, so that it is left as it is; "
        "to have it folded, send all of it without that field"
    )
    return Notice("server_state", text, {"field": field})
