"""Pages to read in tests, and reading them without the registry between."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

from handlers.web.extract import Terms, Wish, extract
from handlers.web.fetch import Limits, fetch

LOCAL = Terms(private=True)
SENTENCE = "The river runs past the old mill and turns to the north behind the long wall."


def pages(*urls: str, wish: Wish | None = None, terms: Terms = LOCAL) -> list[dict[str, Any]]:
    return asyncio.run(extract(urls, wish or Wish(), terms))


def page(url: str, wish: Wish | None = None, terms: Terms = LOCAL) -> dict[str, Any]:
    return pages(url, wish=wish, terms=terms)[0]


def fetched(url: str, **limits: Any) -> bytes:
    return asyncio.run(fetch(url, limits=Limits(**limits), private=True)).data


def article(title: str, *paragraphs: str, head: str = "") -> str:
    text = "".join(f"<p>{one}</p>" for one in paragraphs)
    return (
        f"<!doctype html><html><head>{head}<title>{title}</title></head><body>"
        f"<nav><a href='/home'>Home</a></nav><article><h1>{title}</h1>{text}</article>"
        "<script>alert('script')</script></body></html>"
    )


def pdf(*texts: str, **about: str) -> bytes:
    """A PDF file with a page for each text, written out object by object."""
    kids = " ".join(f"{index * 2 + 5} 0 R" for index in range(len(texts)))
    title = about.get("title", "")
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /MediaBox [0 0 612 792] /Count {len(texts)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    for index, text in enumerate(texts):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        objects += [
            f"<< /Type /Page /Parent 2 0 R {resources} /Contents {index * 2 + 6} 0 R >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n".encode()
    root = f"/Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return (
        out
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
            f"<< {root} >>\nstartxref\n{len(out)}\n%%EOF\n"
        ).encode()
    )


def zipped(data: bytes) -> bytes:
    """Gzip data without the time in it, so that a test has the same name in every process."""
    return gzip.compress(data, mtime=0)
