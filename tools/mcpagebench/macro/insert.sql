-- SPDX-License-Identifier: GPL-2.0-only
-- A table and an index in memory, with keys in no order; half of it is deleted
-- and inserted again.
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, body TEXT);
CREATE TABLE number (n INTEGER PRIMARY KEY);
INSERT INTO number
	WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count LIMIT 40000)
	SELECT n FROM count;
BEGIN;
INSERT INTO item
	SELECT n * 7919 % 1000003, 'item ' || n, hex(zeroblob(100 + n % 200)) FROM number;
CREATE INDEX by_name ON item (name);
COMMIT;
DELETE FROM item WHERE id % 2;
INSERT OR IGNORE INTO item
	SELECT n * 7919 % 1000003, 'new ' || n, hex(zeroblob(100 + n % 150)) FROM number;
SELECT count(*), sum(length(name) + length(body)) FROM item;
