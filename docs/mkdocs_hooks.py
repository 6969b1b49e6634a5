# SPDX-License-Identifier: Apache-2.0
"""Files outside of docs/ that pages link to become part of the site, below source/, so that the same links work in both."""
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

LINK = re.compile(r"(\]\()([^)\s#:]+)(?=[)#])")
ROOT = Path(__file__).resolve().parent.parent


def outside(page, target):
    """The path in the repository that a page's link leads to, if that is not in docs/."""
    path = page.removeprefix("source/") if page.startswith("source/") else "docs/" + page
    path = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return path if not path.startswith("docs/") and (ROOT / path).is_file() else None


def add(files, config, path):
    """Adds a file, and what it links to if it is a page itself."""
    if files.get_file_from_path("source/" + path):
        return
    files.append(File.generated(config, "source/" + path, abs_src_path=str(ROOT / path)))
    if path.endswith(".md"):
        follow(files, config, "source/" + path, (ROOT / path).read_text())


def follow(files, config, page, text):
    for _, target in LINK.findall(text):
        if path := outside(page, target):
            add(files, config, path)


def on_files(files, config):
    for page in files.documentation_pages():
        follow(files, config, page.src_uri, page.content_string)
    return files


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri

    def rewrite(match):
        begin, target = match.groups()
        if path := outside(here, target):
            return begin + posixpath.relpath("source/" + path, posixpath.dirname(here) or ".")
        if here.startswith("source/"):  # back into docs/
            path = posixpath.normpath(posixpath.join(posixpath.dirname(here.removeprefix("source/")), target))
            return begin + posixpath.relpath(path.removeprefix("docs/"), posixpath.dirname(here))
        return match.group(0)

    return LINK.sub(rewrite, markdown)
