"""URL, headers and proxy of a request."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from yohaku import __version__
from yohaku.client.endpoint import Endpoint
from yohaku.dialects import dialect_named


def request_url(endpoint: Endpoint, model: str = "") -> str:
    return dialect_named(endpoint.dialect).url(endpoint.url, model or endpoint.model)


def request_headers(endpoint: Endpoint) -> dict[str, str]:
    dialect = dialect_named(endpoint.dialect)
    headers = {"Content-Type": "application/json", "User-Agent": f"yohaku/{__version__}", **dialect.fixed_headers}
    key = endpoint.key.strip()
    if key and dialect.key_header:
        headers[dialect.key_header] = key
    elif key and not _split(endpoint.url).username:  # a name and a password in the URL use the same header
        headers["Authorization"] = f"Bearer {key}"
    return headers


def proxy_for(url: str) -> str | None:
    """Return the proxy of the environment, never for this machine. Left to it, aiohttp would read ~/.netrc, too."""
    parts = _split(url)
    host = parts.hostname or ""
    if _is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def host_of(url: str) -> str:
    """Return host and port without a password, to be shown."""
    return (_split(url).netloc or url).rpartition("@")[2]


def _split(url: str) -> SplitResult:
    """Split a URL; one that is malformed is all path."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
