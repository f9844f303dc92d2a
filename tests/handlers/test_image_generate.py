"""Images that were paid for are written whole, where nothing stood before."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.scripted_model import (
    KEY,
    Broken,
    Failure,
    Images,
    ModelServer,
    Raw,
    Reply,
    Request,
    Scripted,
    Silence,
)
from handlers.image_generate import MODEL, handler
from handlers.models import making
from tests.handlers import images
from tests.handlers.calling import answered, call


@pytest.fixture
def draw(root: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., ModelServer]) -> Any:
    """Calls the handler with a server that answers as told; gives the answer and the server."""
    monkeypatch.setenv("HERMES_WORKSPACE", str(root))
    for name in ("HERMES_IMAGE_MODEL", "HERMES_IMAGE_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)

    def call(
        *script: Scripted,
        environ: dict[str, str] | None = None,
        files: dict[str, bytes] | None = None,
        **args: Any,
    ) -> tuple[dict[str, Any], ModelServer]:
        server = serve(*script, **(environ or {}))
        server.files.update(files or {})
        whole: Any = {"prompt": "a red bar", "size": "1024x1024", "n": 1, **args}
        answer = answered(lambda: asyncio.run(handler(whole)))
        assert server.surplus == 0 and server.left == 0
        assert KEY not in answer
        return json.loads(answer), server

    return call


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_an_image_is_written_under_a_name_made_from_its_content(draw: Any, root: Path) -> None:
    answer, server = draw(Images((images.PNG,)), size="1536x1024")
    [made] = answer["images"]
    assert made == {
        "path": made["path"],
        "format": "png",
        "bytes": len(images.PNG),
        "width": 300,
        "height": 20,
    }
    assert made["path"].startswith("images/image-") and made["path"].endswith(".png")
    assert files(root) == {made["path"]: images.PNG}
    [request] = server.requests
    assert request.path == "/v1/images/generations"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": MODEL, "prompt": "a red bar", "size": "1536x1024", "n": 1}
    again, _ = draw(Images((images.PNG,)))
    assert again["images"][0]["path"] == made["path"].replace(".png", "-2.png")


def test_the_tool_works_from_the_command_line(root: Path) -> None:
    with ModelServer([Images((images.PNG, images.GIF))]) as server:
        environ = {**server.environment, "HERMES_WORKSPACE": str(root)}
        answer = call("image_generate", '{"prompt": "a bar", "n": 2, "path": "bar"}', environ)
    assert [one["path"] for one in json.loads(answer)["images"]] == ["bar-1.png", "bar-2.gif"]
    assert files(root) == {"bar-1.png": images.PNG, "bar-2.gif": images.GIF}


def test_the_model_is_a_setting(draw: Any) -> None:
    _, server = draw(Images((images.PNG,)), environ={"HERMES_IMAGE_MODEL": "brush-3"})
    assert server.bodies[0]["model"] == "brush-3"


def test_several_images_get_numbers_and_the_ending_of_what_came(draw: Any, root: Path) -> None:
    answer, _ = draw(Images((images.PNG, images.JPEG, images.WEBP)), n=3, path="art/bar.PNG")
    assert [one["path"] for one in answer["images"]] == [
        "art/bar-1.PNG",
        "art/bar-2.jpg",
        "art/bar-3.webp",
    ]
    assert set(files(root)) == {"art/bar-1.PNG", "art/bar-2.jpg", "art/bar-3.webp"}


@pytest.mark.parametrize(
    ("path", "data", "written"),
    [
        ("a.jpeg", images.JPEG, "a.jpeg"),
        ("a.jpg", images.GIF, "a.gif"),
        ("art.v2", images.PNG, "art.v2.png"),
        (".png", images.PNG, ".png.png"),
        ("a/./b/../c", images.PNG, "a/c.png"),
    ],
)
def test_the_ending_follows_the_format(
    draw: Any, root: Path, path: str, data: bytes, written: str
) -> None:
    (root / "a" / "b").mkdir(parents=True)
    answer, _ = draw(Images((data,)), path=path)
    assert answer["images"][0]["path"] == written
    assert files(root) == {written: data}


def test_the_same_image_twice_in_one_answer_is_written_twice(draw: Any, root: Path) -> None:
    answer, _ = draw(Images((images.GIF, images.GIF)), n=2)
    assert len({one["path"] for one in answer["images"]}) == 2 == len(files(root))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("taken.png", "taken.png exists already"),
        ("taken", "taken.png exists already"),
        ("folder/", "names a folder"),
        (".", "names a folder"),
        ("folder.png", "folder.png exists already"),
        ("taken.png/below.png", "a part of the path is not a folder"),
        ("../outside.png", "leads out of the workspace"),
        ("link/a.png", "leads out of the workspace"),
    ],
)
def test_a_path_that_will_not_do_is_refused_before_anything_is_paid_for(
    draw: Any, root: Path, path: str, message: str
) -> None:
    (root / "taken.png").write_text("mine")
    (root / "folder.png").mkdir()
    (root / "link").symlink_to(root.parent)
    answer, server = draw(path=path)
    assert message in answer["error"]
    assert server.requests == []
    assert files(root) == {"taken.png": b"mine"}


def test_one_of_several_places_that_is_taken_is_refused_too(draw: Any, root: Path) -> None:
    (root / "a-2.png").write_text("mine")
    answer, server = draw(path="a.png", n=2)
    assert "a-2.png exists already" in answer["error"] and server.requests == []


def test_a_file_that_appears_meanwhile_is_kept_and_the_image_too(draw: Any, root: Path) -> None:
    def meanwhile(_: Request) -> Reply:
        (root / "a.png").write_text("theirs")
        return Images((images.PNG,))

    answer, _ = draw(meanwhile, path="a.png")
    assert answer["images"][0]["path"] == "a-2.png"
    assert files(root) == {"a.png": b"theirs", "a-2.png": images.PNG}


def test_an_address_of_the_endpoint_itself_is_fetched_without_the_key(
    draw: Any, root: Path
) -> None:
    def by_address(request: Request) -> Reply:
        return Images((f"http://{request.headers['host']}/files/a?token=secret",))

    _, server = draw(by_address, files={"a?token=secret": images.WEBP}, path="a")
    assert files(root) == {"a.webp": images.WEBP}
    fetch = server.requests[1]
    assert (fetch.method, fetch.path) == ("GET", "/files/a?token=secret")
    assert "authorization" not in fetch.headers


def test_an_address_may_be_a_data_url(draw: Any, root: Path) -> None:
    url = "data:image/png;base64," + base64.b64encode(images.PNG).decode()
    draw(Images((url,)), path="a.png")
    assert files(root) == {"a.png": images.PNG}


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "ftp://example.org/a",
        "http://169.254.169.254/latest",
        "a.png",
        "http://",
    ],
)
def test_an_address_elsewhere_that_is_not_https_is_not_fetched(
    draw: Any, root: Path, address: str
) -> None:
    answer, _ = draw(Images((address,)))
    assert "is at an address that is not fetched" in answer["error"]
    assert files(root) == {}


@pytest.mark.parametrize(
    "address",
    ["https://10.0.0.5/a", "https://[::1]/a", "https://localhost/a", "https://169.254.169.254/a"],
)
def test_an_address_of_a_private_network_is_not_fetched(
    draw: Any, root: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HERMES_ALLOW_PRIVATE_URLS", raising=False)
    answer, server = draw(Images((address,)))
    assert "Nothing is fetched from" in answer["error"]
    assert len(server.requests) == 1
    assert files(root) == {}


def test_another_port_of_the_same_host_is_another_origin(draw: Any) -> None:
    with ModelServer() as other:
        other.files["a"] = images.PNG
        answer, _ = draw(Images((f"{other.origin}/files/a",)))
    assert "is at an address that is not fetched" in answer["error"]
    assert other.requests == []


def test_an_address_is_not_shown_since_it_may_hold_a_token(draw: Any) -> None:
    def gone(request: Request) -> Reply:
        return Images((f"http://{request.headers['host']}/files/gone?token=secret",))

    answer, _ = draw(gone)
    assert "could not be fetched from 127.0.0.1: it answers with 404" in answer["error"]
    assert "secret" not in answer["error"]


def test_a_fetched_image_that_is_too_large_is_refused(
    draw: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "MOST_BYTES", 1000)

    def large(request: Request) -> Reply:
        return Images((f"http://{request.headers['host']}/files/large",))

    answer, _ = draw(large, files={"large": images.PNG + bytes(1000)})
    assert "has more than 1,000 bytes" in answer["error"]
    answer, _ = draw(Images((images.PNG + bytes(1000),)))
    assert "holds more than 1,000 bytes" in answer["error"]
    answer, _ = draw(Raw(b" " * ((1 << 20) + 2000)))
    assert "is longer than" in answer["error"]
    assert files(root) == {}


def test_images_that_came_are_kept_when_others_did_not(draw: Any, root: Path) -> None:
    page = b"<html>not an image</html>"
    answer, _ = draw(Images((images.PNG, page, images.GIF)), n=4, path="a")
    assert [one["path"] for one in answer["images"]] == ["a-1.png", "a-2.gif"]
    not_an_image, too_few = answer["failures"]
    assert not_an_image.startswith("Image 2 of the answer is not an image")
    assert too_few.endswith("made 3 of the 4 images asked for.")
    assert set(files(root)) == {"a-1.png", "a-2.gif"}


def test_more_images_than_were_asked_for_are_not_written(draw: Any, root: Path) -> None:
    answer, _ = draw(Images((images.PNG, images.GIF)))
    assert len(answer["images"]) == 1 == len(files(root))


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Failure(401, f"wrong key {KEY}"), "does not accept the key in OPENAI_API_KEY"),
        (Failure(400, "against the rules"), "refuses the request (400): against the rules"),
        (Failure(429, "slow down"), "too many requests or that the quota is used up (429)"),
        (Failure(500, "oops"), "failed; trying again later may help (500): oops"),
        (Raw(b"nothing"), "is not the JSON object"),
        (Raw(b"{}"), "has no list `data`"),
        (Raw(b'{"data": null}'), "has no list `data`"),
        (Raw(b'{"data": [null]}'), "neither content nor an address"),
        (Raw(b'{"data": [{"b64_json": "", "url": ""}]}'), "neither content nor an address"),
        (Raw(b'{"data": [{"b64_json": "%%%%"}]}'), "is not valid base64"),
        (Raw(b'{"data": [{"b64_json": "iVBO"}]}'), "is not an image"),
        (Images(()), "made 0 of the 1 images"),
        (Broken(Images((images.PNG,)), 60), "broke off"),
    ],
)
def test_every_failure_is_one_plain_sentence_and_is_not_tried_again(
    draw: Any, root: Path, reply: Scripted, message: str
) -> None:
    answer, server = draw(reply)
    assert message in answer["error"]
    assert len(server.requests) == 1
    assert files(root) == {}


def test_an_endpoint_that_never_answers_is_given_up(draw: Any) -> None:
    with ModelServer([Silence()]) as silent:
        answer, _ = draw(environ={"OPENAI_BASE_URL": silent.url, "HERMES_IMAGE_TIMEOUT": "0.3"})
    assert "within 0.3 s" in answer["error"]
