"""What the report page holds, unpacked as the page does it."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]


class ViewPage:
    """The data of a page; `reports` are its reports."""

    def __init__(self, html: str) -> None:
        self._block = gzip.decompress(b64decode(_element(html, "block"), validate=True))
        begin = json.loads(_element(html, "data"))["begin"]
        self.json = self._block[begin:].decode()
        self.shown: dict[str, Any] = json.loads(self.json)
        self.reports: list[dict[str, Any]] = self._worded(self.shown["reports"])

    def _worded(self, value: Any) -> Any:
        """Return data with its texts: one that is said often is a number among the words."""
        if isinstance(value, list):
            return [self._worded(each) for each in value]
        if isinstance(value, dict) and set(value) == {"w"}:
            return self.shown["words"][value["w"]]
        if isinstance(value, dict):
            return {name: self._worded(each) for name, each in value.items()}
        return value

    def array(self, found: dict[str, int], length: int) -> Numbers:
        """Return the numbers that the data name."""
        if "c" in found:
            return np.full(length, found["c"])
        kind, begin, count = self.shown["table"][found["a"]]
        kept = np.frombuffer(self._block, np.dtype("<" + kind), count, begin)
        if "tens" in found:
            return (kept % 1000) * 10 ** (kept // 1000).astype(np.int64)
        return np.repeat(kept, found["run"])[:length] if "run" in found else kept

    def text(self, found: dict[str, int]) -> str:
        """Return the text that the data name."""
        return bytes(self.array(found, 0)).decode()


def _element(html: str, name: str) -> str:
    found = re.search(rf'<script type="[a-z/]+" id="{name}">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return found[1]
