"""The documents are true: links lead somewhere, commands exist, the configuration shown is one."""

import re
from pathlib import Path

import pytest

import app.cli
from app.config import load
from tests.conftest import ROOT

DOCUMENTS = sorted(path for path in ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file_of_the_repository(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) + re.findall(r'src="([^"]+)"', text)
    missing = [target for target in targets if "://" not in target and not (document.parent / target).exists()]
    assert missing == []


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#{1,6} (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_into_a_document_leads_to_a_heading(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s:]*\.md|)#([^)\s]+)\)", document.read_text(encoding="utf-8"))
    missing = [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in anchors(document.parent / target if target else document)
    ]
    assert missing == []


def test_the_first_screen_shows_how_to_see_it_and_how_to_test_it() -> None:
    first_screen = "\n".join(README.splitlines()[:20])
    assert "scripts/demo" in first_screen
    assert "scripts/test" in first_screen


def test_every_command_shown_exists() -> None:
    known = {command.callback.__name__ for command in app.cli.app.registered_commands if command.callback}
    known |= {group.name for group in app.cli.app.registered_groups if group.name}
    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS]
    shown = {name for text in texts for name in re.findall(r"(?:bin/|`)taktsight ([a-z]+)", text)}
    assert "run" in shown
    assert shown <= known
    for script in re.findall(r"scripts/([a-z_-]+(?:\.sh)?)", README):
        assert (ROOT / "scripts" / script).exists(), script


def test_the_configuration_shown_loads(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    path = tmp_path / "line.yaml"
    path.write_text(shown, encoding="utf-8")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "camera-3").write_text("x")
    assert load(path).config.cameras["covers"].gate is not None


def test_no_document_or_source_names_a_path_of_the_machine_it_was_made_on() -> None:
    files = [
        p
        for folder in ("app", "docs", "configs", "scripts", "tests")
        for p in (ROOT / folder).rglob("*")
        if p.is_file()
    ]
    texts = {p: p.read_text(encoding="utf-8", errors="ignore") for p in [*files, *DOCUMENTS] if p.suffix != ".pyc"}
    private = "/" + "work/"
    assert [str(path) for path, text in texts.items() if private in text] == []


def test_what_ships_stays_small() -> None:
    shipped = [*(ROOT / "samples").rglob("*"), *(ROOT / "engines").glob("*")]
    assert sum(path.stat().st_size for path in shipped if path.is_file()) < 15_000_000
