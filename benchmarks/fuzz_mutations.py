# SPDX-License-Identifier: Apache-2.0
"""Valid files → hostile ones: bytes, words and numbers of any file, and changes that know a format's structure."""

from __future__ import annotations

import copy
import json
import re
import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any
from xml.etree import ElementTree

import yaml

Mutation = Callable[[bytes, Random], bytes]
WORDS = (
    *("nan", "-nan", "inf", "-inf", "1e999", "-1e999", "1e-999", "1e18", "-1", "0", "-0", "1", "2", "0.5"),
    *(
        "99999999999999999999",
        "9" * 5000,
        "65536",
        "4294967296",
        "2147483648",
        "-2147483649",
        "1e308",
        "5e-324",
    ),
    *(
        "",
        " ",
        "null",
        "~",
        "true",
        "false",
        "[]",
        "{}",
        "''",
        '"',
        "\\",
        "\n",
        "\t",
        "\r",
        ":",
        "#",
        "- ",
        "? ",
    ),
    *(
        "..",
        "../../x",
        "/etc/hostname",
        "~root",
        "a\0b",
        "1²3",
        "٣",
        "<b>",
        "{{data}}",
        "{% x %}",
        "$(id)",
        "%s",
    ),
    *(
        "[red]",
        "\x1b[31m",
        "\ud7ff",
        "é",
        "&lt;",
        "]]>",
        "2001-13-45",
        "12:30:45",
        "0x7f",
        "0b1",
        "0o17",
        "1_000",
    ),
    *("!!python/object:os.system x", "!!timestamp x", "!!binary x", "!!set {a}", "!!int x", "!!float ''"),
    *("*a", "&a", "<<: 1", "---", "...", "%YAML 9.9", "%TAG ! !"),
)
NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")


def bytes_changed(data: bytes, rng: Random) -> bytes:
    """Cut, overwrite, delete, repeat, replace or flip a random part."""
    at, span = rng.randrange(max(len(data), 1)), rng.randint(1, 40)
    kind = rng.randrange(7)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + rng.randbytes(span) + data[at + span :]
    if kind == 2:
        return data[:at] + data[at + span :]
    if kind == 3:
        return data[:at] + data[at : at + span] * rng.choice((2, 3, 50)) + data[at + span :]
    if kind == 4:
        return rng.randbytes(span)
    if kind == 5 and data:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    return data[:at] + hostile_word(rng).encode("utf-8", "surrogatepass") + data[at + rng.randrange(8) :]


def hostile_word(rng: Random) -> str:
    """Something nobody would write."""
    return rng.choice(WORDS)


def number_changed(data: bytes, rng: Random) -> bytes:
    """One number of a text becomes another, or no number."""
    found = list(NUMBER.finditer(data[:200_000]))
    if not found:
        return bytes_changed(data, rng)
    chosen = rng.choice(found)
    return data[: chosen.start()] + hostile_word(rng).encode("utf-8", "replace") + data[chosen.end() :]


def lines_changed(data: bytes, rng: Random) -> bytes:
    """Lines lost, doubled, exchanged or very many."""
    lines = data.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        del lines[a]
    elif kind == 1:
        lines.insert(a, lines[b])
    elif kind == 2:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 3:
        lines[a:a] = [lines[b]] * rng.choice((10, 1000, 20_000))
    else:
        lines[a] = lines[a][: rng.randrange(len(lines[a]) + 1)]
    return b"\n".join(lines)


def _leaf(rng: Random) -> Any:
    numbers: tuple[Any, ...] = (0, -1, 1, 2, 10**30, -(10**30), 1e308, 1e18, -1e18, 1e-300, 0.5, 65536, 65537)
    words = (None, True, [], {}, [[]], [1, 2, 3], {"a": 1}, "", "x" * 3000)
    return rng.choice((*numbers, float("nan"), float("inf"), *words, hostile_word(rng)))


def _places(tree: Any, found: list[tuple[Any, Any]]) -> None:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        found.append((tree, key))
        _places(tree[key], found)


def tree_changed(tree: Any, rng: Random) -> Any:
    """One to three entries of nested mappings and lists changed, removed, moved or multiplied."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 3)):
        places: list[tuple[Any, Any]] = []
        _places(tree, places)
        if not places:
            return _leaf(rng)
        owner, key = rng.choice(places)
        kind = rng.randrange(6)
        if kind <= 2:
            owner[key] = _leaf(rng)
        elif kind == 3:
            del owner[key]
        elif kind == 4 and isinstance(owner, dict):
            owner[hostile_word(rng)] = owner.pop(key)
        elif isinstance(owner, list):
            owner.extend(copy.deepcopy(owner[key : key + 1]) * rng.choice((1, 3, 300)))
        else:
            owner[key] = [copy.deepcopy(owner[key])] * 2
    return tree


BOMBS = (
    "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{c}: &{c} [{','.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefg", "bcdefgh")),
    "[" * 20_000,
    "{a: " * 5_000,
    "- " * 5_000 + "x",
    "? " * 3_000,
    "x: " + "9" * 100_000,
    "x: " + "1:" * 50_000 + "1",
    "&a [*a]",
    "a: !!set {? [1] }",
    "? [1, 2]\n: 3",
    "? {a: 1}\n: 3",
    "<<: [{a: 1}, {b: 2}]",
    "x: !!omap [1]",
    "x: !!pairs 3",
    "=: 3",
)


def yaml_changed(data: bytes, rng: Random) -> bytes:
    """The tree of a YAML file, or a text made to blow up."""
    if rng.random() < 0.1:
        bomb = rng.choice(BOMBS).encode()
        return bomb if rng.random() < 0.5 else data + b"\n" + bomb
    changed = tree_changed(yaml.safe_load(data), rng)
    return yaml.safe_dump(changed, sort_keys=False, allow_unicode=True).encode("utf-8", "replace")


def json_changed(data: bytes, rng: Random) -> bytes:
    """The tree of a JSON file, or deep nesting."""
    if rng.random() < 0.05:
        return rng.choice((b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"NaN", b"[]", b"3", b'"x"'))
    return json.dumps(tree_changed(json.loads(data), rng)).encode("utf-8", "replace")


def json_lines_changed(data: bytes, rng: Random) -> bytes:
    """One line of a file of JSON lines."""
    lines = data.rstrip(b"\n").split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = json_changed(lines[at], rng)
    return b"\n".join(lines) + b"\n"


XML_BOMB = (
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {c} "{f"&{p};" * 10}">' for p, c in zip("abcdefg", "bcdefgh"))
    + "]><r>&h;</r>"
)


def xml_changed(data: bytes, rng: Random) -> bytes:
    """One element of an XML file changed, removed, doubled; or a text made to blow up."""
    if rng.random() < 0.1:
        encodings = ("foo", "utf-7", "utf-16", "utf-32", "idna", "rot13", "big5", "punycode", "hex")
        bombs = (
            XML_BOMB,
            "<a>" * 100_000,
            "<a>" + "<b/>" * 300_000 + "</a>",
            f'<?xml version="1.0" encoding="{rng.choice(encodings)}"?>{data.decode().partition("?>")[2]}',
            '<!DOCTYPE r SYSTEM "file:///etc/hostname"><r/>',
        )
        return rng.choice(bombs).encode()
    root = ElementTree.fromstring(data)
    nodes = list(root.iter())
    for _ in range(rng.randint(1, 2)):
        node = rng.choice(nodes)
        kind = rng.randrange(5)
        if kind <= 1:
            node.text = hostile_word(rng)
        elif kind == 2 and len(node):
            node.remove(rng.choice(list(node)))
        elif kind == 3 and len(node):
            node.extend([copy.deepcopy(rng.choice(list(node)))] * rng.choice((1, 5, 500)))
        else:
            node.set(rng.choice(("id", "type", "count", "units", "x")), hostile_word(rng))
    return ElementTree.tostring(root, encoding="utf-8")


def _hostile_integer(rng: Random, size: int) -> int:
    top = 1 << (8 * size)
    return rng.choice((0, 1, 2, 3, 255, 65535, 65536, 100_000, top // 2 - 1, top // 2, top - 1)) % top


def integer_changed(data: bytes, rng: Random) -> bytes:
    """A 16- or 32-bit number near the beginning (headers of BMP, TIFF, JPEG, STL, GLB)."""
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(1, min(len(data) - size, 400)))
    order: Any = rng.choice(("little", "big"))
    return data[:at] + _hostile_integer(rng, size).to_bytes(size, order) + data[at + size :]


def png_changed(data: bytes, rng: Random) -> bytes:
    """A chunk of a PNG changed, lost, doubled or moved, with the right check sum."""
    chunks, at = [], 8
    while at + 12 <= len(data):
        size = struct.unpack_from(">I", data, at)[0]
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    kind = rng.randrange(5)
    which = rng.randrange(len(chunks))
    if kind == 0:
        header = bytearray(chunks[0][1])
        struct.pack_into(">I", header, rng.choice((0, 4)), _hostile_integer(rng, 4))
        chunks[0] = (b"IHDR", bytes(header))
    elif kind == 1:
        header = bytearray(chunks[0][1])
        header[rng.randrange(8, 13)] = rng.randrange(20)
        chunks[0] = (b"IHDR", bytes(header))
    elif kind == 2:
        del chunks[which]
    elif kind == 3:
        chunks.insert(which, rng.choice(chunks))
    else:
        chunks[which] = (chunks[which][0], bytes_changed(chunks[which][1], rng))
    out = b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
    return data[:8] + out


def npy_changed(data: bytes, rng: Random) -> bytes:
    """The header of a NumPy file, with the right length."""
    length = struct.unpack_from("<H", data, 8)[0]
    header = data[10 : 10 + length]
    change = rng.choice((bytes_changed, number_changed, shape_changed))
    changed = change(header, rng)[:60_000]
    return data[:8] + struct.pack("<H", len(changed)) + changed + data[10 + length :]


def shape_changed(header: bytes, rng: Random) -> bytes:
    """Another shape or type of number."""
    shapes = (b"(0, 0)", b"(-1, 4)", b"(10000000000, 10)", b"(24, 32, 1)", b"()", b"(True, 3)", b"(1e3, 2)")
    kinds = (b"|O", b"<f8", b"<c16", b"|V0", b"<U100", b"<M8[s]", b"|b1", b">f4", b"x", b"<f2")
    if rng.random() < 0.5:
        return re.sub(rb"\([^)]*\)", rng.choice(shapes), header)
    return re.sub(rb"'descr': '[^']*'", b"'descr': '" + rng.choice(kinds) + b"'", header)


def glb_changed(data: bytes, rng: Random) -> bytes:
    """The JSON part of a binary glTF file, lengths kept right."""
    size = struct.unpack_from("<I", data, 12)[0]
    text = json_changed(data[20 : 20 + size], rng)
    text += b" " * (-len(text) % 4)
    rest = data[20 + size :]
    head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A)
    return head + text + rest
