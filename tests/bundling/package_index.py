"""A package index of a few small wheels, on a port of this machine."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


def wheel(
    name: str, version: str, requires: Iterable[str] = (), python: str = ">=3.8", tag: str = "py3"
) -> tuple[str, bytes]:
    """The file name and the content of a wheel with one module, which is called like it."""
    module = name.replace("-", "_")
    stem = f"{module}-{version}"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Python: {python}", *(f"Requires-Dist: {one}" for one in requires), ""]
    files = {
        f"{module}.py": f"VERSION = {version!r}\n",
        f"{stem}.dist-info/METADATA": "\n".join(lines),
        f"{stem}.dist-info/WHEEL": f"Wheel-Version: 1.0\nTag: {tag}-none-any\n",
    }
    rows = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{path},sha256={digest.decode()},{len(text)}")
    files[f"{stem}.dist-info/RECORD"] = "\n".join([*rows, f"{stem}.dist-info/RECORD,,", ""])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return f"{stem}-{tag}-none-any.whl", data.getvalue()


class Index:
    """The folder of a package index; with ``layout``, files stand where PyPI would have them."""

    def __init__(self, folder: Path, layout: bool = True) -> None:
        self.folder = folder
        self.layout = layout
        self.url = ""
        self.add(*wheel("jsonschema-rs", "0.61.2"))

    def add(self, file_name: str, data: bytes) -> None:
        """Offer a file, as wheel or source distribution."""
        digest = hashlib.blake2b(data, digest_size=32).hexdigest()
        inner = f"{digest[:2]}/{digest[2:4]}/{digest[4:]}" if self.layout else "files"
        place = self.folder / "packages" / inner / file_name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        page = self.folder / "simple" / file_name.split("-")[0].replace("_", "-") / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        sha256 = hashlib.sha256(data).hexdigest()
        link = f'<a href="../../packages/{inner}/{file_name}#sha256={sha256}">{file_name}</a>\n'
        with page.open("a", encoding="utf-8") as file:
            file.write(link)

    @contextmanager
    def serving(self, prefix: str = "") -> Iterator[Index]:
        """Serve the folder; ``url`` is where `uv` finds it."""
        handler = partial(_Quiet, directory=self.folder, prefix=prefix)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}{prefix}/simple"
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def __init__(self, *rest: object, prefix: str, **named: object) -> None:
        self.prefix = prefix
        super().__init__(*rest, **named)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if not self.path.startswith(self.prefix):
            self.send_error(404)
            return
        self.path = self.path[len(self.prefix) :]
        super().do_GET()

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")  # what is added is seen at once
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
