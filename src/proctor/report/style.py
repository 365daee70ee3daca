"""The style sheet of HTML reports: light and dark, wide and narrow, screen and paper."""

from __future__ import annotations

# Text on its background has a contrast of at least 4.5 to 1 in both palettes (a test computes it).
LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "quiet": "#535b66",
    "rule": "#d5dae1",
    "band": "#f5f7f9",
    "accent": "#0b5cad",
    "warning": "#7a2e00",
    "warning-paper": "#fff4e5",
    "verdict-paper": "#eaf3fc",
    "up": "#1f6fd6",
    "down": "#c2410c",
}
DARK = {
    "paper": "#14171b",
    "ink": "#e6e9ed",
    "quiet": "#a6afba",
    "rule": "#3a414a",
    "band": "#1c2026",
    "accent": "#7cb8f5",
    "warning": "#ffc890",
    "warning-paper": "#33230f",
    "verdict-paper": "#14273a",
    "up": "#79b3ff",
    "down": "#ff9d6b",
}


def _palette(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


CSS = f"""
:root {{ color-scheme: light; {_palette(LIGHT)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {_palette(DARK)} }} }}
* {{ box-sizing: border-box; }}
html {{ background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }}
body {{ margin: 0; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }}
main {{ max-width: 64rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }}
h1, h2 {{ line-height: 1.25; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.7rem; margin: 0 0 .25rem; }}
h2 {{ font-size: 1.2rem; margin: 2.25rem 0 .75rem; }}
p, li {{ max-width: 46rem; overflow-wrap: anywhere; }}
p {{ margin: 0 0 .9rem; }}
.when {{ color: var(--quiet); margin-bottom: 1.5rem; }}
.notice {{ max-width: none; padding: .75rem 1rem; border-left: .3rem solid; border-radius: .25rem; }}
.warning {{ background: var(--warning-paper); border-color: var(--warning); }}
.warning strong {{ color: var(--warning); }}
.verdict {{ background: var(--verdict-paper); border-color: var(--accent); }}
figure {{ margin: 0 0 1.25rem; max-width: 40rem; }}
figcaption, caption {{ color: var(--quiet); font-size: .9rem; }}
svg {{ display: block; width: 100%; height: auto; }}
svg text {{ fill: var(--ink); font-size: 12.5px; font-variant-numeric: tabular-nums; }}
svg .name {{ font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
svg .name {{ font-size: 12px; }}
svg .name, svg .value {{ stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }}
svg .tick {{ fill: var(--quiet); font-size: 11.5px; }}
.grid {{ stroke: var(--rule); stroke-width: 1; }}
.whisker {{ stroke: var(--accent); stroke-width: 2; }}
.dot {{ fill: var(--accent); }}
.zero {{ stroke: var(--quiet); stroke-width: 1; }}
.path {{ fill: none; stroke: var(--ink); stroke-width: 2.5; stroke-linejoin: round; }}
.path-end {{ fill: var(--ink); }}
.field-up, .field-down {{ fill: var(--up); opacity: .18; }}
.bound-up, .bound-down {{ fill: none; stroke: var(--up); stroke-width: 1.2; stroke-dasharray: 4 3; }}
.field-down {{ fill: var(--down); }}
.bound-down {{ stroke: var(--down); }}
.box {{ overflow-x: auto; margin: 0 0 1.5rem; }}
.box:focus-visible {{ outline: .15rem solid var(--accent); outline-offset: .15rem; }}
table {{ border-collapse: collapse; font-size: .92rem; line-height: 1.4; }}
caption {{ text-align: left; padding: 0 0 .4rem; }}
th, td {{ padding: .35rem .9rem .35rem 0; text-align: left; vertical-align: top; }}
th, td {{ border-bottom: 1px solid var(--rule); }}
thead th {{ vertical-align: bottom; border-bottom: 2px solid var(--quiet); }}
thead th {{ max-width: 14rem; overflow-wrap: break-word; }}
tbody th {{ font-weight: 500; min-width: 8rem; max-width: 20rem; overflow-wrap: break-word; }}
tbody th {{ position: sticky; left: 0; background: var(--paper); }}
td {{ min-width: 6rem; max-width: 34rem; overflow-wrap: break-word; }}
th.number, td.number {{ text-align: right; font-variant-numeric: tabular-nums; padding-left: .4rem; }}
td.number {{ min-width: 0; overflow-wrap: normal; white-space: nowrap; }}
@media (max-width: 40rem) {{
  main {{ padding: 1.25rem 1rem 3rem; }}
  h1 {{ font-size: 1.35rem; }}
  tbody th {{ min-width: 7rem; max-width: 40vw; }}
  svg .name, svg .tick {{ font-size: 13px; }}
  svg .value {{ font-size: 14px; }}
}}
@media print {{
  body {{ font-size: 10pt; }}
  main {{ max-width: none; padding: 0; }}
  .box {{ overflow: visible; }}
  table {{ font-size: 8pt; }}
  td.number {{ white-space: normal; }}
  tbody th {{ position: static; }}
  tr, figure, .notice {{ break-inside: avoid; }}
  h2, caption {{ break-after: avoid; }}
  .notice, .dot, .field-up, .field-down {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
