"""What is given away, as strangers try it: making a link to another project's run, reading and ending its links."""

from __future__ import annotations

from probe import ACTS, NOTHING, Key, Make, Probe, lists, query, run, same

SHARE_PAGES: dict[Key, Make] = {
    ("POST", "/shares"): lambda of: [
        Probe("/shares", ACTS, form={"address": f"/runs/{of.done}", "days": 7}),
        Probe("/shares", ACTS, form={"address": query("/compare", runs=[of.done, of.beside]), "days": 1}),
    ],
    ("GET", "/settings/shares"): same("/settings/shares"),
    ("POST", "/shares/{ident}/revoke"): run("/shares/{}/revoke", ACTS, "share", form={}),
    ("GET", "/shared/{token}"): run("/shared/{}", NOTHING, "share"),
    ("GET", "/find"): lists("/find", q="model"),
}
