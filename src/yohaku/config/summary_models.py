"""The model that writes summaries for a main model, and its window.

Law: the settings beat the catalogue, whose model is used only where it is cheaper. None stands for the main model
itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from yohaku.config.settings import Settings

if TYPE_CHECKING:
    from yohaku.config import catalog

SAME, CHEAPER = "same", "cheaper"
"""Words in place of a model's name: the main model itself; the catalogue's cheaper one of the same provider."""


@dataclass(frozen=True, slots=True)
class SummaryModel:
    name: str
    """As in the setting `model`."""
    window: int = 0
    """Tokens; 0 if unknown."""
    source: str = ""
    """Where it was set, or `catalogue`."""
    share: float = 0.8
    """Share of a chapter that it writes: the smaller a model, the more is left to lines of the conversation."""


def summary_model_for(
    model: str | None, settings: Settings, *, provider: str | None = None, default: str = SAME
) -> SummaryModel | None:
    """Return the model named in the settings, else `default`: a name, `cheaper` or `same`."""
    from yohaku.config import catalog  # loaded only where it is needed

    named, source = settings.options.compaction.model, settings.origin.get("compaction.model", "")
    if not named and model:
        named, source = find_by_model(model, settings), settings.origin.get("summary_models", "")
    named = named or default
    if named == SAME:
        return None
    known = catalog.load(settings.catalog)
    if named == CHEAPER:
        row = find_cheaper(known, model, provider)
        return SummaryModel(row.id, row.window, "catalogue") if row else None
    row = known.find(named, provider)
    return SummaryModel(named, row.window if row else 0, source)


def find_by_model(model: str, settings: Settings) -> str:
    """Return the row of `summary_models` for a model: by its name, else by the longest pattern, else `default`."""
    table = {name.lower(): text for name, text in settings.summary_models.items()}
    names = (model.lower(), model.lower().partition("/")[2] or model.lower())
    for name in names:
        if name in table:
            return table[name]
    patterns = sorted((each for each in table if each != "default"), key=len, reverse=True)
    found = next((each for each in patterns if any(fnmatchcase(name, each) for name in names)), "default")
    return table.get(found, "")


def find_cheaper(known: catalog.Catalog, model: str | None, provider: str | None) -> catalog.Model | None:
    """Return the catalogue's model for summaries, if it costs less than this one."""
    row = known.find(model, provider) if model else None
    found = known.summary_for(row) if row else None
    if row is None or found is None or found.id == row.id or row.prices is None or found.prices is None:
        return None
    return found if found.prices.input < row.prices.input else None
