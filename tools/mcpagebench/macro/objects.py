# SPDX-License-Identifier: GPL-2.0-only
# Large structures of small objects: strings in lists, an index of them in
# dicts, and records of which a part is dropped and made anew.

WORDS = 200000
RECORDS = 60000


def record(words, number):
    return {"id": number, "name": words[number * 7 % WORDS],
            "tags": [words[number + i] for i in range(5)]}


def main():
    words = [f"word {i * 7919 % 1000003}" for i in range(WORDS)]
    index = {}
    for place, word in enumerate(words):
        index.setdefault(word[:9], []).append(place)
    records = [record(words, i) for i in range(RECORDS)]
    for i in range(0, RECORDS, 2):
        records[i] = None
    for i in range(0, RECORDS, 2):
        records[i] = record(words, i + 1)
    words.sort()
    print(len(index), sum(len(r["name"]) for r in records), words[WORDS // 2])


main()
