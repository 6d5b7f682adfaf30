# SPDX-License-Identifier: BSD-3-Clause
"""A browser that opens a page at a width, by day and by night, and on paper, and what it says of the page.

Chromium is the machine's; playwright, which drives it, and axe, which knows the rules of accessible pages,
come with the package that setup.sh puts into build/tools.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build/tools/axe-playwright-python"
FONT = "LiberationSans-Regular.ttf"
SCREENS = {"390": 390, "768": 768, "1280": 1280}
PAPER = "paper"
A4 = 794  # px
LAYOUTS = (*SCREENS, PAPER)
SCHEMES = ("light", "dark")


def chromium() -> Optional[str]:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def why_no_browser() -> str:
    """Empty where pages can be opened."""
    if not chromium():
        return "chromium is not installed"
    if TOOLS.is_dir() and str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))
    try:
        playwright = importlib.import_module("playwright.sync_api")
        importlib.import_module("axe_playwright_python.sync_playwright")
    except ImportError as why:
        return (
            "no axe_playwright_python (%s); rm -r build/tools/axe-playwright-python && sh "
            "suite/setup/setup.sh all brings it" % why
        )
    return _why_no_driver(Path(playwright.__file__).parents[1] / "driver/node")


def _why_no_driver(node: Path) -> str:
    """The package brings a program of its own, which needs libatomic."""
    if not node.exists():
        return ""
    done = subprocess.run([str(node), "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    words = " ".join(done.stdout.decode("utf-8", "replace").split())
    return "" if done.returncode == 0 else "playwright does not start: %s" % words


def why_no_layout() -> str:
    """Empty where pictures of the layout can be compared."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    folders = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), data / "fonts", home / ".fonts")
    if not any(True for folder in folders for _ in folder.rglob(FONT)):
        return "the font Liberation Sans is not installed"
    return "" if importlib.util.find_spec("PIL") else "the Python package PIL is not installed"


class Page:
    """A page that is open, as it was last laid out."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page, self.console = page, []
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.goto(path.as_uri())
        page.evaluate(
            "window.pageRules = " + (Path(__file__).parent / "page_rules.js").read_text(encoding="utf-8")
        )

    def rule(self, name: str, *arguments: Any) -> Any:
        return self.page.evaluate("([name, given]) => pageRules[name](...given)", [name, list(arguments)])

    def lay_out(self, layout: str, scheme: str, margins: bool = True, height: int = 900) -> None:
        """On paper the width is what the page's own margins leave of A4."""
        self.page.emulate_media(media="print" if layout == PAPER else "screen", color_scheme=scheme)
        width = SCREENS.get(layout) or A4 - (round(self.rule("print_margins")) if margins else 0)
        self.page.set_viewport_size({"width": width, "height": height})

    def violations(self, colours: bool) -> List[str]:
        """Violations that axe calls serious or critical. Without colours, of which page_rules.js knows more,
        it is three times as fast."""
        from axe_playwright_python.sync_playwright import Axe

        options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": colours}}}
        found = Axe().run(self.page, options=options).response["violations"]
        return [
            "%s, %s: %s; %d places, such as %s: %s"
            % (
                one["impact"],
                one["id"],
                one["help"],
                len(one["nodes"]),
                " ".join(map(str, one["nodes"][0]["target"])),
                " ".join(one["nodes"][0]["failureSummary"].split()),
            )
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    def picture(self) -> bytes:
        return self.page.screenshot()

    def printed(self, target: Path) -> "Paper":
        self.page.pdf(path=str(target), format="A4", prefer_css_page_size=True, print_background=True)
        return Paper(target)


class Paper:
    """The pages of a PDF file, as pdftotext reads them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = self._pdftotext("-layout", str(path), "-")
        self.pages = [" ".join(page.split()) for page in text.split("\f")[:-1]]

    @staticmethod
    def _pdftotext(*arguments: str) -> str:
        return subprocess.run(["pdftotext", *arguments], stdout=subprocess.PIPE, check=True).stdout.decode(
            "utf-8", "replace"
        )

    def outside(self) -> List[str]:
        """Words that reach beyond the sheet."""
        found, width = [], 0.0
        for line in self._pdftotext("-bbox", str(self.path), "-").splitlines():
            page = re.search(r'<page width="([\d.]+)"', line)
            width = float(page[1]) if page else width
            word = re.search(r'<word xMin="(-?[\d.]+)" .*xMax="([\d.]+)".*>(.*)</word>', line)
            if word and (float(word[1]) < -1 or float(word[2]) > width + 1):
                found.append("%s ends at %s pt of %s" % (word[3], word[2], width))
        return found


class Browser:
    """One Chromium; each file is opened once and laid out anew."""

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(
            executable_path=chromium(),
            args=["--no-sandbox", "--font-render-hinting=none", "--disable-lcd-text"],
        )
        self._context = self._chromium.new_context()
        self._pages: Dict[Path, Page] = {}

    def close(self) -> None:
        self._chromium.close()
        self._playwright.stop()

    def open(self, path: Path) -> Page:
        """The page as the last user left it: what one changes, it puts back."""
        if path not in self._pages:
            self._pages[path] = self.open_anew(path)
        return self._pages[path]

    def open_anew(self, path: Path) -> Page:
        return Page(self._context.new_page(), path)
