"""Which addresses may be asked for others: public ones, judged at the moment when the connection is made.

A name that was looked up when a job was handed in may lead elsewhere when it runs. So each look-up is judged
anew, and the connection is made to the very addresses that were judged. IPv6 addresses that carry one of IPv4 are
judged as what they carry: IPv4-mapped (RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056).
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from proctor.errors import Forbidden

_NAT64 = IPv6Network("64:ff9b::/96")
# Nothing in them is public, whatever the interpreter's own table says: IPv4-compatible addresses, NAT64 within
# one network (RFC 8215), Teredo (RFC 4380), and what was site-local.
_INSIDE = tuple(map(IPv6Network, ("::/96", "64:ff9b:1::/48", "2001::/32", "fec0::/10")))
LOW_32 = 0xFFFFFFFF


def is_public(address: str) -> bool:
    """Whether an address in numbers is one of the public Internet's, or carries one.

    >>> is_public("1.1.1.1"), is_public("64:ff9b::101:101"), is_public("64:ff9b::7f00:1"), is_public("fec0::1")
    (True, True, False, False)
    """
    meant = _meant(ip_address(address.partition("%")[0]))
    if isinstance(meant, IPv6Address) and any(meant in network for network in _INSIDE):
        return False
    return meant.is_global and not meant.is_multicast


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address inside this one, where there is one."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & LOW_32)
    return address.ipv4_mapped or address.sixtofour or address


def need_public(host: str, addresses: Iterable[str]) -> None:
    """Raises Forbidden, naming the first address that is not public."""
    for address in addresses:
        if not is_public(address):
            raise Forbidden(
                f"base_url: {host} leads to {address}, which is not public; the operator may allow it in "
                "PROCTOR_ALLOWED_ADDRESSES"
            )


def need_public_literal(host: str) -> None:
    """The same for a host that is an address in numbers: such are never looked up. Raises Forbidden."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return  # a name, or a number in another spelling: both are looked up
    need_public(host, [host])
