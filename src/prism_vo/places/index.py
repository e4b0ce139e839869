# SPDX-License-Identifier: Apache-2.0
"""Which keyframes look like a frame: votes of binary words, without a vocabulary that somebody had to train.

A word is a few bits of a descriptor, at fixed places drawn once: two views of one corner differ in a tenth of their 256
bits, so of several words at least one usually survives, while two different corners rarely share one. Words that many
keyframes have say little and count little.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_vo.arrays import Array, Integers, Mask

TABLES = 4  # words a descriptor
BITS = 16  # a word
TAIL = 32  # keyframes that are looked at one by one before they are merged into the sorted list
SEED = 20  # of the drawn bits


class PlaceIndex:
    """Keyframes by the words of their descriptors: one sorted list of (word, keyframe), and a short unsorted tail."""

    def __init__(self) -> None:
        bits = np.random.default_rng(SEED).permutation(256)[: TABLES * BITS].reshape(TABLES, BITS)
        self._byte, self._shift = (bits // 8).astype(np.intp), (7 - bits % 8).astype(np.uint8)
        self._words = np.zeros(0, np.int32)  # sorted
        self._rows = np.zeros(0, np.int32)  # position of the keyframe that has it
        self._tail: list[Integers] = []  # words of the newest keyframes
        self._place = np.full(TABLES << BITS, -1, np.int32)  # scratch: word → position in a query
        self._word_counts: list[int] = []
        self.ids: list[int] = []

    def __len__(self) -> int:
        return len(self.ids)

    def words(self, descriptors: NDArray[np.uint8]) -> Integers:
        """Distinct words (N,) of descriptors (M, 32)."""
        bits = (descriptors[:, self._byte] >> self._shift) & 1  # (M, TABLES, BITS)
        values = bits.astype(np.int32) @ (1 << np.arange(BITS, dtype=np.int32))
        table = np.arange(TABLES, dtype=np.int32) << BITS
        return np.unique(values + table).astype(np.int32)

    def add(self, keyframe: int, descriptors: NDArray[np.uint8]) -> None:
        """One more keyframe."""
        words = self.words(descriptors)
        self.ids.append(keyframe)
        self._word_counts.append(max(len(words), 1))
        self._tail.append(words)
        if len(self._tail) >= TAIL:
            self._merge()

    def _merge(self) -> None:
        words, rows = self._tail_entries()
        order = np.argsort(words, kind="stable")
        at = np.searchsorted(self._words, words[order], side="right")
        self._words = np.insert(self._words, at, words[order])
        self._rows = np.insert(self._rows, at, rows[order])
        self._tail = []

    def _tail_entries(self) -> tuple[Integers, Integers]:
        first = len(self.ids) - len(self._tail)
        rows = [np.full(len(own), first + k, np.int32) for k, own in enumerate(self._tail)]
        empty = np.zeros(0, np.int32)
        return np.concatenate([empty, *self._tail]), np.concatenate([empty, *rows])

    def scores(self, descriptors: NDArray[np.uint8]) -> Array:
        """Similarity (keyframes,) in the order they were added."""
        query, count = self.words(descriptors), len(self.ids)
        low, high = (np.searchsorted(self._words, query, side=side) for side in ("left", "right"))
        lengths = high - low
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        rows = self._rows[np.repeat(low, lengths) + within]
        tail_words, tail_rows = self._tail_entries()
        self._place[query] = np.arange(len(query), dtype=np.int32)
        hit = self._place[tail_words]
        self._place[query] = -1
        tail_rows, hit = tail_rows[hit >= 0], hit[hit >= 0]
        common = lengths + np.bincount(hit, minlength=len(query))
        rarity = np.log((count + 1) / np.maximum(common, 1))  # rare words say more
        weights = np.concatenate([np.repeat(rarity, lengths), rarity[hit]])
        votes = np.bincount(np.concatenate([rows, tail_rows]), weights=weights, minlength=count)
        return np.asarray(votes / np.sqrt(np.array(self._word_counts)))

    def find(self, descriptors: NDArray[np.uint8], most: int, allowed: Mask | None = None) -> list[int]:
        """Ids of the most similar keyframes, best first; ``allowed``: false where it is not asked for."""
        scores = self.scores(descriptors)
        if allowed is not None:
            scores = scores * allowed
        order = np.argsort(-scores, kind="stable")[:most]
        return [self.ids[k] for k in order.tolist() if scores[k] > 0]
