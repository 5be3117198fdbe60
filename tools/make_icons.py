"""Write ``static/icons.svg``: the icons of the console as one sprite, from an unpacked ``lucide-static`` package.

    npm pack lucide-static@1.62.0 && tar xzf lucide-static-1.62.0.tgz && python -m tools.make_icons package

Needed only when a name is added to ``icons.txt``: the sprite is kept, its digest in ``static/vendor/MANIFEST.json``.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPRITE = HERE.parent / "static" / "icons.svg"
NOTICE = "<!-- Lucide icons 1.62.0, ISC licence: vendor/lucide-static-1.62.0.LICENSE.txt -->"


def symbol(name: str, source: str) -> str:
    """The drawing of ``source`` as a symbol; line style comes from the ``.icon`` rule of console.css."""
    drawing = re.sub(r"<!--.*?-->|</?svg[^>]*>", "", source, flags=re.DOTALL)
    return f'<symbol id="{name}" viewBox="0 0 24 24">{"".join(line.strip() for line in drawing.splitlines())}</symbol>'


def main(package: Path) -> None:
    """Replace the sprite with the icons named in ``icons.txt``."""
    names = sorted((HERE / "icons.txt").read_text().split())
    symbols = [symbol(name, (package / "icons" / f"{name}.svg").read_text()) for name in names]
    SPRITE.write_text("\n".join(['<svg xmlns="http://www.w3.org/2000/svg">', NOTICE, *symbols, "</svg>", ""]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
