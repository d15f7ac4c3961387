"""How the report looks: one style sheet, light and dark."""

from __future__ import annotations

from app.traces.colours import DARK, LIGHT


def _stages(colours: dict[str, str]) -> str:
    return "".join(f"--{stage}:{colour};" for stage, colour in colours.items())


_LIGHT = (
    "--page:#f6f7f8;--card:#ffffff;--ink:#1b1e22;--soft:#5d656e;--faint:#8b939c;--line:#e3e6e9;--alarm:#c62a2f;"
    '--font:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;'
    "--good:#13795b;--p50:#7fa8dd;--p90:#3d7bc8;--p99:#123f7a;--band:#c62a2f1f;" + _stages(LIGHT)
)
_DARK = (
    "--page:#131518;--card:#1c1f23;--ink:#e9ecef;--soft:#a4acb5;--faint:#767f89;--line:#30353b;--alarm:#ff6b6b;"
    "--good:#3fc796;--p50:#3f6ea8;--p90:#6ea5ea;--p99:#c4ddff;--band:#ff6b6b2e;" + _stages(DARK)
)

STYLE = (
    ":root{color-scheme:light dark;" + _LIGHT + "}"
    "@media(prefers-color-scheme:dark){:root{" + _DARK + "}}"
    """
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.45 var(--font)}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:22px;margin:0 0 2px}
h2{font-size:16px;margin:0 0 4px}
h3{font-size:13px;margin:14px 0 4px;color:var(--soft);font-weight:600}
p{margin:4px 0 10px;color:var(--soft);max-width:78ch}
p.lead{color:var(--ink);font-size:17px;max-width:none;margin:18px 0}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px 20px 14px;margin:16px 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:10px;margin:18px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:11px 14px}
.tile b{display:block;white-space:nowrap;font-size:23px;font-weight:650;letter-spacing:-.01em}
.tile span{color:var(--soft);font-size:13px}
.alarm{color:var(--alarm)}.good{color:var(--good)}
svg{display:block;width:100%;height:auto;font:12px var(--font);overflow:visible}
svg text{fill:var(--soft)}svg text.ink{fill:var(--ink)}svg text.strong{fill:var(--ink);font-weight:650}
svg text.on{fill:#fff;font-weight:600}svg text.over{fill:var(--alarm);font-weight:650}
svg .grid{stroke:var(--line);stroke-width:1}
svg .budget{stroke:var(--alarm);stroke-width:1.5;stroke-dasharray:5 4}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;color:var(--soft)}
th.name,td.name{text-align:left}
tr.sum td{font-weight:650;border-bottom:0}
tr.hit td{font-weight:650}
td.bar{width:190px;padding-right:0}
.key{display:flex;flex-wrap:wrap;gap:4px 16px;margin:8px 0 4px;color:var(--soft);font-size:13px}
.key i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{color:var(--faint);font-size:13px;margin-top:22px}
"""
)
