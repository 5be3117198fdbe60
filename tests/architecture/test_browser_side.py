"""What the browser is served: files as they were vendored, and templates that the content security policy allows."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders

ROOT = Path(settings.BASE_DIR)
VENDOR = ROOT / "static" / "vendor"
MANIFEST = json.loads((VENDOR / "MANIFEST.json").read_text())
TEMPLATES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "templates").rglob("*.html")}


@pytest.mark.parametrize("vendored", MANIFEST, ids=lambda vendored: vendored["name"])
def test_a_vendored_file_is_the_one_that_was_vendored_and_has_its_licence(vendored: dict[str, str]) -> None:
    assert hashlib.sha256((VENDOR / vendored["file"]).read_bytes()).hexdigest() == vendored["sha256"]
    assert (VENDOR / vendored["licence_file"]).read_text().strip()


def test_every_vendored_file_stands_in_the_manifest() -> None:
    named = {vendored[key] for vendored in MANIFEST for key in ("file", "licence_file")}
    assert {path.name for path in VENDOR.iterdir()} - {"MANIFEST.json"} == named - {"../icons.svg"}


def test_no_file_is_served_that_a_library_brings_along() -> None:
    served = {Path(storage.path(name)) for finder in get_finders() for name, storage in finder.list([])}
    assert served == {path for path in (ROOT / "static").rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "pattern",
    [
        r"\sstyle=",
        r"<style",
        r"<script(?![^>]*\ssrc=)",
        r"<[^>]*\son[a-z]+=",
        r"hx-on|hx-vars|js:|javascript:",
        r"hx-trigger=\"[^\"]*\[",
        r"https?://(?!www\.w3\.org)",
    ],
)
def test_no_template_holds_what_the_content_security_policy_refuses(pattern: str) -> None:
    assert [name for name, text in TEMPLATES.items() if re.search(pattern, text)] == []


def test_no_template_declares_text_safe() -> None:
    assert [name for name, text in TEMPLATES.items() if re.search(r"\|\s*safe\b|autoescape off|safeseq", text)] == []


def test_the_sprite_has_every_icon_that_a_template_names_and_none_that_nothing_names() -> None:
    sprite = set(re.findall(r'<symbol id="([^"]+)"', (ROOT / "static" / "icons.svg").read_text()))
    named = {icon for text in TEMPLATES.values() for icon in re.findall(r'(?:{% icon |icon=)"([^"]+)"', text)}
    assert named <= sprite
    assert sprite <= {word for text in texts_that_name() for word in re.findall(r'"([a-z-]+)"', text)}


def test_the_style_sheet_has_no_class_that_nothing_names() -> None:
    sheet = (ROOT / "static" / "console.css").read_text()
    bare = re.sub(r'/\*.*?\*/|"[^"]*"|url\([^)]*\)', "", sheet, flags=re.DOTALL)
    texts = [*texts_that_name(), *(path.read_text() for path in (ROOT / "static").glob("*.js"))]
    named = {word for text in texts for word in re.findall(r"[a-z][\w-]*", text)} | {"htmx-request"}
    built = {start for text in texts for start in re.findall(r"([a-z][a-z-]*-)\$?\{", text)}  # "badge-{}"
    classes = set(re.findall(r"\.([a-z][\w-]*)", bare))
    assert [each for each in sorted(classes - named) if not each.startswith(tuple(built))] == []


def texts_that_name() -> list[str]:
    """Templates, and the Python that renders them."""
    product = [path for app in ("memory", "openwop_console", "proposals") for path in (ROOT / app).rglob("*.py")]
    return [*TEMPLATES.values(), *(path.read_text() for path in product)]


def test_every_fragment_link_works_without_scripts() -> None:
    for name, text in TEMPLATES.items():
        for tag in re.findall(r"<a\b[^>]*hx-get=[^>]*>", text):
            assert "href=" in tag, f"{name}: {tag}"


def test_a_form_that_is_included_with_its_own_context_is_given_its_token() -> None:
    """``only`` leaves the token out, and the browser's form is then refused; the test client never notices."""
    forms = {path.removeprefix("templates/") for path, text in TEMPLATES.items() if "{% csrf_token %}" in text}
    included = re.compile(r'{% include "([^"]+)"([^%]*) only %}')
    assert [
        (path, name)
        for path, text in TEMPLATES.items()
        for name, given in included.findall(text)
        if name in forms and "csrf_token=csrf_token" not in given
    ] == []
