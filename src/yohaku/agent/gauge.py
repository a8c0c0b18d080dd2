"""The meter of an endpoint, and the gauge that user interfaces show.

Law: a local model whose vocabulary can be read is counted exactly; nothing is shown that was not weighed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from yohaku import meters
from yohaku.agent.events import Gauge
from yohaku.client.endpoint import Endpoint
from yohaku.core.errors import Unreadable
from yohaku.core.meter import Meter
from yohaku.messages import find, say

if TYPE_CHECKING:
    from yohaku.core.budget import Budget
    from yohaku.core.recipe import Recipe
    from yohaku.core.weigh import Ledger
    from yohaku.session.session import Session

VOCABULARY = "tokenizer.ggml.tokens"


def meter_for(endpoint: Endpoint) -> Meter:
    """Return a registered meter, else one from the model's own file or metadata, else by its name."""
    if registered := meters.find_registered(endpoint.model, endpoint.provider):
        return registered
    try:
        if path := str(endpoint.info.get("path") or ""):
            return meters.from_file(path)
        if VOCABULARY in endpoint.info:
            return _from_metadata(endpoint)
    except (Unreadable, OSError):
        pass  # a file on another machine, or a vocabulary of an unknown kind
    return meters.for_model(endpoint.model, endpoint.dialect, endpoint.provider)


def _from_metadata(endpoint: Endpoint) -> Meter:
    from yohaku.meters import gguf, tokenizer_json
    from yohaku.meters.cached import CachedMeter
    from yohaku.meters.families import family_of

    family = family_of(endpoint.model, endpoint.dialect)
    encode = gguf.encoder_of(endpoint.info)
    return CachedMeter(tokenizer_json.TokenizerFileMeter(Path(endpoint.model).name, encode, family.frame, family.rule))


def make_gauge(
    session: Session,
    ledger: Ledger,
    meter: Meter,
    lang: str,
    *,
    added: int = 0,
    messages: int = 0,
    foldings: int = 0,
    cuts: int = 0,
) -> Gauge:
    """`ledger`: of the request sent last. `added`: tokens that came after it."""
    budget, scale = session.budget, session.scale
    used = scale.total(ledger.total + added)
    return Gauge(
        used=used,
        window=budget.window,
        system=ledger.system,
        tools=ledger.tools,
        turns=max(0, used - ledger.system - ledger.tools),
        last=ledger.last,
        reserve=budget.reserve,
        exact=meter.exact or (session.server_counts and bool(scale.lessons) and not added),
        messages=messages,
        foldings=foldings,
        cuts=cuts,
        warnings=len(session.warnings),
        coming=describe_coming(session.recipe, budget, used, lang),
        folds_at=session.recipe.starts_at(budget),
        cuts_at=session.recipe.cuts_at(budget),
    )


def describe_coming(recipe: Recipe, budget: Budget, used: int, lang: str) -> str:
    """Return what this recipe does next with a conversation of this size, and when."""
    at = recipe.starts_at(budget)
    facts = {"what": describe_folding(recipe, lang), "at": at, "percent": round(100 * at / budget.limit)}
    if used > budget.limit:  # big tool results are shown as they are, and folded before they are sent
        return say("loop_over", lang, **facts, over=used - budget.limit)
    if used >= at:
        return say("loop_now", lang, **facts)
    if at > budget.limit:
        return say("loop_when_full", lang, **facts)
    return say("loop_soon" if used >= budget.at("warm") else "loop_calm", lang, **facts, left=at - used)


def describe_folding(recipe: Recipe, lang: str) -> str:
    """Return what a recipe does when it folds; of the user's own recipes only that they fold."""
    code = f"recipe_does.{recipe.name}"
    return say(code if find(code) else "recipe_does.other", lang)
