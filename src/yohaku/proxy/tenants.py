"""The tenant of a request: whose part of the store its refs, folds and records are in.

Law: a tenant is a name that the user set, or a keyed hash of the credential; a credential itself is never stored. All
of a tenant's data is addressed through its own store, so that what one sends cannot open what another has.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

from yohaku.stores import Store
from yohaku.stores.fallback import FallbackStore

BY_CREDENTIAL = "credential"
CREDENTIAL_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie")
CREDENTIAL_PARAMETERS = ("key", "api_key", "access_token")
MAX_TENANTS = 1024
"""Tenants whose stores are kept open; another one costs time, not correctness."""


class Tenants:
    def __init__(self, setting: str = "", key: str = "") -> None:
        """`setting`: a name for everybody, "credential" for one a credential, "" for none. `key`: of the hash."""
        self.setting, self._key = setting, key.encode()

    def find(self, headers: Iterable[tuple[str, str]], parameters: Iterable[tuple[str, str]]) -> str:
        """Return the tenant of a request, by its headers and the parameters of its URL."""
        if self.setting != BY_CREDENTIAL:
            return self.setting
        given = [(name.lower(), value) for name, value in headers if name.lower() in CREDENTIAL_HEADERS]
        given += [(name, value) for name, value in parameters if name in CREDENTIAL_PARAMETERS]
        text = "\n".join(f"{name}\0{value.strip()}" for name, value in sorted(given))
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:32]


class TenantStores:
    """The store of each tenant, opened once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._opened: OrderedDict[str, Store] = OrderedDict()
        self._lock = Lock()

    def of(self, tenant: str) -> Store:
        if not tenant:
            return self._store
        with self._lock:
            if tenant not in self._opened:
                self._opened[tenant] = self._store.of(tenant)
            self._opened.move_to_end(tenant)
            while len(self._opened) > MAX_TENANTS:
                _settle(self._opened.popitem(last=False)[1])
            return self._opened[tenant]

    def settle(self) -> None:
        """Move what was kept in memory while a store failed to that store, if it works."""
        with self._lock:
            for store in self._opened.values():
                _settle(store)


def _settle(store: Store) -> None:
    if isinstance(store, FallbackStore):
        store.settle()
