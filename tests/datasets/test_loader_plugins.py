# SPDX-License-Identifier: Apache-2.0
"""A third party's package with an entry point opens its own kind of recording."""

from __future__ import annotations

import pytest
from sequence_files import images, write_raw_sequence

from prism_vo.datasets import open_sequence
from prism_vo.errors import InputError

PACKAGE = """
from prism_vo.datasets.folder import FolderLoader


class Loader:
    name = "acme"

    def recognises(self, path):
        return path.suffix == ".acme"

    def open(self, path):
        return FolderLoader().open(path.parent / path.read_text().strip())
"""


def install(folder, code, target="acme_light_fields:Loader"):
    """What pip leaves behind: the module and its metadata."""
    (folder / "acme_light_fields.py").write_text(code)
    info = folder / "acme_light_fields-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-light-fields\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[prism_vo.datasets]\nacme = {target}\n")


def test_an_installed_package_adds_a_loader(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    recording = tmp_path / "walk.acme"
    recording.write_text("walk")
    write_raw_sequence(tmp_path / "walk", images(2))
    with pytest.raises(InputError, match="not a sequence"):
        open_sequence(recording)
    install(site, PACKAGE)
    monkeypatch.syspath_prepend(str(site))
    sequence = open_sequence(recording)
    assert sequence.name == "walk" and len(sequence) == 2
    assert len(open_sequence(recording, loader="acme")) == 2
    assert len(open_sequence(tmp_path / "walk")) == 2  # ours still work


def test_a_broken_package_is_named(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    install(site, "import a_module_that_does_not_exist", "acme_light_fields_broken:Loader")
    write_raw_sequence(tmp_path / "walk", images(1))
    monkeypatch.syspath_prepend(str(site))
    with pytest.raises(InputError, match="acme_light_fields_broken"):
        open_sequence(tmp_path / "walk")
