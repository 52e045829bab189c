"""Pictures of pages as small PNG files."""

from __future__ import annotations

import base64
import struct
import zlib

from playwright.sync_api import Page

COUNT_COLOURS = """
async (picture) => {
  const bytes = Uint8Array.from(atob(picture), (char) => char.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const pixels = new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const part = (colour, bit) => (colour >> bit) & 255;
  const far = (a, b) => [0, 8, 16].reduce((sum, bit) => sum + (part(a, bit) - part(b, bit)) ** 2, 0);
  const kept = [];
  for (const one of [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)))
    if (kept.length < 256 && kept.every((other) => far(one, other) > 100)) kept.push(one);
  const nearer = (one) => (best, colour, at) => (far(one, colour) < far(one, kept[best]) ? at : best);
  const places = new Map([...counts.keys()].map((one) => [one, kept.reduce(nearer(one), 0)]));
  const lines = new Uint8Array((image.width + 1) * image.height);
  pixels.forEach((pixel, at) => (lines[at + Math.floor(at / image.width) + 1] = places.get(pixel)));
  const text = (data) => btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join(""));
  const palette = kept.flatMap((colour) => [part(colour, 0), part(colour, 8), part(colour, 16)]);
  return [image.width, image.height, text(palette), text(lines)];
}
"""


def picture_of(page: Page) -> bytes:
    """Return a PNG of what a page shows, in up to 256 of its colours, the most frequent ones that differ
    enough; the others become the nearest of them.
    """
    taken = page.screenshot(animations="disabled", caret="hide")
    width, height, palette, lines = page.evaluate(COUNT_COLOURS, base64.b64encode(taken).decode())
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),
        b"PLTE": base64.b64decode(palette),
        b"IDAT": zlib.compress(base64.b64decode(lines), 9),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )
