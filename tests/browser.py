"""A headless Chromium, driven through its DevTools protocol."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
"""None where there is no such browser."""

_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--remote-debugging-port=0",
)  # fmt: skip


class Page:
    """The only page of a browser.

    Attributes:
        complaints: What the browser reported: errors of scripts, refusals of the page's policy,
            dialogs that a script opened.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self.complaints: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command of the protocol."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = await self._socket.receive_json(timeout=60)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                found: dict[str, Any] = message["result"]
                return found
            self._note(message)

    def _note(self, event: dict[str, Any]) -> None:
        values = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(values["exceptionDetails"]["text"])
        elif event["method"] == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.complaints.append(values["entry"]["text"])
        elif event["method"] == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {values['message']}")

    async def open(self, url: str) -> None:
        """Goes to a page and returns at once."""
        await self.call("Page.navigate", url="about:blank")  # else only a hash might change
        await self.call("Page.navigate", url=url)

    async def value(self, script: str) -> Any:
        """What an expression comes to, in JSON values."""
        result = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']['exception']}")
        return result["result"].get("value")

    async def wait(self, script: str, seconds: float = 30) -> Any:
        """The value of an expression once it is true; that of the last try where it never is."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            value = await self.value(script)
            if value or asyncio.get_running_loop().time() > deadline:
                return value
            await asyncio.sleep(0.02)

    async def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key[:1])


@asynccontextmanager
async def browser(*options: str) -> AsyncIterator[Page]:
    """An open browser; it is closed and its profile removed in the end."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM, *_QUIET, f"--user-data-dir={profile}", *options, "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            port = await _port(Path(profile) / "DevToolsActivePort")
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    pages = await answer.json()
                address = next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page")
                async with session.ws_connect(address, max_msg_size=0) as socket:
                    page = Page(socket)
                    for domain in ("Page", "Runtime", "Log"):
                        await page.call(f"{domain}.enable")
                    yield page
        finally:
            process.terminate()
            await process.wait()


async def _port(file: Path) -> str:
    for _ in range(600):
        if file.exists() and (lines := file.read_text().splitlines()):
            return lines[0]
        await asyncio.sleep(0.05)
    raise TimeoutError("the browser does not start")
