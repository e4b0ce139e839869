# SPDX-License-Identifier: Apache-2.0
"""What a run needs at its end alone lies in a file: it reads like a list, survives a kill, changes no byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_vo import shelf
from prism_vo.checkpoint import keeper, records
from prism_vo.checkpoint.pickling import from_bytes, to_bytes
from prism_vo.checkpoint.records import RECORDS, RecordFile
from prism_vo.datasets import open_sequence
from prism_vo.errors import InputError, OutputError
from prism_vo.pipeline import run
from prism_vo.shelf import RECENT, Shelf

FILES = ("trajectory.txt", "keyframes.txt", "points.ply", "covariances.txt", "poses.csv")
COUNT = 3 * RECENT


def filled(folder: Path) -> tuple[Shelf[list[int]], RecordFile]:
    store = RecordFile(folder)
    items: Shelf[list[int]] = Shelf(store=store)
    for number in range(COUNT):
        items.append([number])
    return items, store


def test_it_reads_like_a_list(tmp_path: Path) -> None:
    items, _ = filled(tmp_path)
    plain = [[number] for number in range(COUNT)]
    assert len(items._recent) == RECENT
    assert items == plain and len(items) == COUNT and [*reversed(items)] == plain[::-1]
    assert items[5] == [5] and items[-1] == [COUNT - 1] and items[3:9:2] == plain[3:9:2]
    with pytest.raises(IndexError):
        items[COUNT]
    before = items.snapshot()
    items.append([-1])
    items.change(lambda item: [10 * item[0]] if item[0] % 2 else None)
    assert [*items] == [[10 * n] if n % 2 else [n] for n in range(COUNT)] + [[-10]]
    assert [*before] == plain


def test_what_may_still_change_stays_in_memory_with_all_after_it(tmp_path: Path) -> None:
    items: Shelf[list[int]] = Shelf(store=RecordFile(tmp_path))
    held = [[4]]
    for number in range(COUNT):
        items.append(held[0] if number == 4 else [number], changing=held)
    assert len(items._places) == 4
    held[0][0] = 44
    assert items[4] == [44]


def test_what_cannot_be_written_stays_in_memory(tmp_path: Path) -> None:
    items: Shelf[object] = Shelf(store=RecordFile(tmp_path))
    odd = [lambda: None for _ in range(2 * RECENT)]
    for each in odd:
        items.append(each)
    assert [*items] == odd


def test_a_checkpoint_names_its_length_and_what_came_later_is_cut_off(tmp_path: Path) -> None:
    items, store = filled(tmp_path)
    facts, state = store.facts(), to_bytes(items, {"records": store})
    for number in range(50_000):  # beyond the buffer
        items.append([-number])
    store.facts()
    again = RecordFile(tmp_path, facts)
    back = from_bytes(state, {"records": again}, lambda _: None, lambda _: None)  # type: ignore[arg-type,return-value]
    assert [*back] == [[number] for number in range(COUNT)]
    assert (tmp_path / RECORDS).stat().st_size > facts["bytes"]
    again.cut()
    assert (tmp_path / RECORDS).stat().st_size == facts["bytes"]
    back.append([7])
    assert back[-1] == [7] and len(back) == COUNT + 1
    again.forget()
    assert not (tmp_path / RECORDS).exists() and back[0] == [0]


@pytest.mark.parametrize("harm", ["missing", "shorter", "changed", "a link"])
def test_damaged_records_are_refused(tmp_path: Path, harm: str) -> None:
    _, store = filled(tmp_path)
    facts, path = store.facts(), tmp_path / RECORDS
    data = path.read_bytes()
    path.unlink()
    if harm == "shorter":
        path.write_bytes(data[:-1])
    elif harm == "changed":
        path.write_bytes(b"x" + data[1:])
    elif harm == "a link":
        (tmp_path / "other").write_bytes(data)
        path.symlink_to(tmp_path / "other")
    with pytest.raises(InputError, match="missing or damaged"):
        RecordFile(tmp_path, facts)


def test_a_file_that_loses_its_contents_is_one_sentence(tmp_path: Path) -> None:
    items, store = filled(tmp_path)
    store.facts()
    (tmp_path / RECORDS).write_bytes(b"")
    with pytest.raises(InputError, match="missing or damaged"):
        items[0]


def test_a_full_disk_is_one_sentence_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, store = filled(tmp_path)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records.os, "write", full)
    with pytest.raises(OutputError, match="No space left"):
        store.facts()
    assert items[0] == [0]
    monkeypatch.undo()
    store.facts()
    assert [*items] == [[number] for number in range(COUNT)]


def test_a_run_that_keeps_little_in_memory_writes_the_same_bytes(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence = open_sequence(recording)
    usual = run(sequence, None, tmp_path / "usual")
    monkeypatch.setattr(shelf, "RECENT", 1)
    monkeypatch.setattr(keeper, "KEYFRAMES", 1)
    monkeypatch.setattr(keeper, "MOST_TIME", 1.0)

    def stop(done: int, total: int | None, report: object) -> None:
        if done == 9:
            raise RuntimeError("a fault of ours")

    out = tmp_path / "out"
    with pytest.raises(RuntimeError):
        run(sequence, None, out, progress=stop)
    assert (out / RECORDS).stat().st_size > 0
    result = run(sequence, None, out, resume=True)
    for name in FILES:
        assert (out / name).read_bytes() == (tmp_path / "usual" / name).read_bytes(), name
    assert not (out / RECORDS).exists()
    assert result.lost == usual.lost and result.segments == usual.segments and result.notices == usual.notices
    assert np.array_equal(result.reports[0].T_world_cam, usual.reports[0].T_world_cam)
    assert len(result.odometry.cloud()) == len(usual.odometry.cloud())


@pytest.mark.parametrize("place", [0, 3, -1, 10**12])
def test_a_record_that_claims_more_than_there_is_costs_no_memory(tmp_path: Path, place: int) -> None:
    path = tmp_path / RECORDS
    store = RecordFile(tmp_path)
    store.put(["something"])
    store.facts()
    path.write_bytes(b"\xff" * path.stat().st_size)  # four bytes of length: 4 GB
    with pytest.raises(InputError, match="is missing or damaged"):
        store.get(place)


def test_a_shelf_without_its_state_is_empty_and_a_wrong_one_is_refused() -> None:
    assert [*Shelf.__new__(Shelf)] == []
    for wrong in (
        {},
        {"_store": None, "_places": [], "_recent": 3},
        {"_store": None, "_places": [], "recent": []},
    ):
        with pytest.raises(ValueError, match="not the state"):
            Shelf().__setstate__(wrong)
