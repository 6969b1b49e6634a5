# SPDX-License-Identifier: Apache-2.0
"""What the site makes of the pages, which are plain Markdown and are also read as files.

A few pages outside of docs/ become part of the site, below source/. Links to other files of the repository lead to its address.
Indented blocks get a language, so that they have colors and the copy button knows commands from what they print.
"""
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

LINK = re.compile(r"(\]\()([^)\s#:]+)(?=[)#])")
ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/firesteel-dev/firesteel"
PAGES = ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "config/samples/README.md", "charts/spark-operator/README.md")
SHOWN = (".md", ".svg", ".png")
COMMAND = re.compile(r"(kubectl|helm|make|go|hack/\S+|\.ci/\S+) |[A-Za-z_]+=\S|[a-z-]+ .*--[a-z]")
MANIFEST = re.compile(r"(- )?[\w-]+:( |$)")
DIALOGUE = re.compile(r'<div class="language-console highlight">(.*?)</div>', re.DOTALL)
SAID = re.compile(r'<span class="g[op]">.*?</span>\n?|<[^>]*>', re.DOTALL)


def on_files(files, config):
    for path in PAGES:
        files.append(File.generated(config, "source/" + path, abs_src_path=str(ROOT / path)))
    return files


def linked(here, target):
    """The link that a page of the site has for a link of a file in the repository."""
    at = here.removeprefix("source/") if here.startswith("source/") else "docs/" + here
    path = posixpath.normpath(posixpath.join(posixpath.dirname(at), target))
    if path.startswith("docs/") and path.endswith(SHOWN):
        return posixpath.relpath(path.removeprefix("docs/"), posixpath.dirname(here) or ".")
    if path in PAGES:
        return posixpath.relpath("source/" + path, posixpath.dirname(here) or ".")
    if (ROOT / path).is_file():
        return f"{REPOSITORY}/blob/main/{path}"
    if (ROOT / path).is_dir():
        return f"{REPOSITORY}/tree/main/{path}"
    return target  # --strict complains about it


def language(block):
    """The language of an indented block: a dialogue with a shell, a manifest, or commands."""
    first = next((line for line in block if line.strip() and not line.startswith("#")), "")
    if first.startswith("$ "):
        return "console"
    if COMMAND.match(first):
        return "sh"
    return "yaml" if MANIFEST.match(first) else "text"


def fenced(lines):
    """The lines with fences around indented blocks. What is indented in a list belongs to the list."""
    out, block, fence, in_list = [], [], False, False

    def end():
        rest = []
        while block and not block[-1].strip():
            rest.append(block.pop())
        if block:
            out.extend(["```" + language(block), *block, "```"])
            block.clear()
        out.extend(rest)

    for line in lines:
        blank = not line.strip()
        if line.startswith("```"):
            fence = not fence
        elif not fence and not in_list and (line.startswith("    ") and (block or not out or not out[-1].strip()) or block and blank):
            block.append(line[4:])
            continue
        end()
        if not blank and not line.startswith(" "):
            in_list = bool(re.match(r"([*+-]|\d+\.) ", line))
        out.append(line)
    end()
    return out


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri == "fields.md":
        page.meta["search"] = {"boost": 1.5}  # a field is said here first
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    text = LINK.sub(lambda m: m[1] + linked(page.file.src_uri, m[2]), markdown)
    return "\n".join(fenced(text.split("\n")))


def commands(dialogue):
    """A dialogue whose copy button takes the commands, without their prompts and without what they print."""
    text = SAID.sub("", dialogue[1]).strip()
    return f'<div class="language-console highlight" data-copy="{text.replace(chr(34), "&quot;")}">{dialogue[1]}</div>'


def on_page_content(html, page, config, files):
    html = DIALOGUE.sub(commands, html)
    return f'<div class="fields">{html}</div>' if page.file.src_uri == "fields.md" else html


def on_post_page(output, page, config):
    """The dialog of the search has a name for who does not see it."""
    return output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"', 1)
