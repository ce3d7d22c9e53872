-- Statements that run, each with our own rendering behind `=>`. The row limit is 100.
--: sqlite, no limit: one is added
select name from customer
=> SELECT name FROM customer LIMIT 101
--: sqlite, a larger limit is lowered
SELECT name FROM customer LIMIT 5000
=> SELECT name FROM customer LIMIT 101
--: sqlite, a smaller limit is kept
SELECT name FROM customer ORDER BY id LIMIT 5 OFFSET 2
=> SELECT name FROM customer ORDER BY id LIMIT 5 OFFSET 2
--: mysql, the offset before the comma stays an offset
SELECT name FROM customer LIMIT 2, 500
=> SELECT name FROM customer LIMIT 101 OFFSET 2
--: sqlite, a limit that is no number goes inside
SELECT name FROM customer LIMIT 5 + 5
=> SELECT * FROM (SELECT name FROM customer LIMIT 5 + 5) AS bounded LIMIT 101
--: sqlite, a negative limit means none and goes inside
SELECT name FROM customer LIMIT -1
=> SELECT * FROM (SELECT name FROM customer LIMIT -1) AS bounded LIMIT 101
--: sqlite, a set operation is bound as a whole
SELECT id FROM customer UNION SELECT customer_id FROM purchase
=> SELECT id FROM customer UNION SELECT customer_id FROM purchase LIMIT 101
--: sqlite, a limit inside a WITH is no outer limit
WITH c AS (SELECT id FROM customer LIMIT 3) SELECT id FROM c
=> WITH qb1_c AS (SELECT id FROM customer LIMIT 3) SELECT id FROM qb1_c AS c LIMIT 101
--: postgres, a fetch is lowered
SELECT name FROM customer ORDER BY id FETCH FIRST 500 ROWS ONLY
=> SELECT name FROM customer ORDER BY id FETCH FIRST 101 ROWS ONLY
--: postgres, ties are counted inside
SELECT name FROM customer ORDER BY id FETCH FIRST 3 ROWS WITH TIES
=> SELECT * FROM (SELECT name FROM customer ORDER BY id FETCH FIRST 3 ROWS WITH TIES) AS bounded LIMIT 101
--: oracle, ROWNUM is a condition and stays one
SELECT name FROM customer WHERE ROWNUM <= 5
=> SELECT name FROM customer WHERE ROWNUM <= 5 FETCH FIRST 101 ROWS ONLY
--: snowflake, TOP is a limit
SELECT TOP 5 name FROM customer
=> SELECT name FROM customer LIMIT 5
--: sqlite, brackets around everything
(SELECT name FROM customer)
=> SELECT name FROM customer LIMIT 101
--: sqlite, comments vanish
SELECT name /* not; a statement */ FROM customer -- drop table customer
=> SELECT name FROM customer LIMIT 101
--: sqlite, words of statements in texts and names
SELECT 'drop table customer; --' AS "update", replace(name, 'delete', 'insert') FROM customer
=> SELECT 'drop table customer; --' AS "update", REPLACE(name, 'delete', 'insert') FROM customer LIMIT 101
--: sqlite, a double-quoted text
SELECT id FROM customer WHERE name = "Bob"
=> SELECT id FROM customer WHERE name = 'Bob' LIMIT 101
--: sqlite, a double-quoted column stays one
SELECT id FROM customer WHERE "name" = 'Bob'
=> SELECT id FROM customer WHERE "name" = 'Bob' LIMIT 101
--: sqlite, a column that every table has
SELECT rowid, c.oid FROM customer AS c
=> SELECT rowid, c.oid FROM customer AS c LIMIT 101
--: postgres, system columns of a row
SELECT ctid, xmin FROM customer
=> SELECT ctid, xmin FROM customer LIMIT 101
--: sqlite, the columns of a table function
SELECT j.value, key FROM customer, json_each(customer.name) AS j
=> SELECT j.value, key FROM customer CROSS JOIN JSON_EACH(customer.name) AS j LIMIT 101
--: sqlite, a recursion with an end
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n
=> WITH RECURSIVE qb1_n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM qb1_n AS n WHERE i < 10) SELECT i FROM qb1_n AS n LIMIT 101
--: mysql, letter case of columns does not count
SELECT NAME FROM customer WHERE ID = 1
=> SELECT NAME FROM customer WHERE ID = 1 LIMIT 101
--: postgres, a qualified builtin
SELECT pg_catalog.lower(name) FROM public.customer
=> SELECT pg_catalog.lower(name) FROM public.customer LIMIT 101
--: duckdb, a struct's member
SELECT s.a FROM (SELECT {'a': 1} AS s) AS t
=> SELECT s.a FROM (SELECT {'a': 1} AS s) AS t LIMIT 101
--: clickhouse, an alias used in the same list
SELECT (amount * 2 AS d) + d FROM purchase
=> SELECT (amount * 2 AS d) + d FROM purchase LIMIT 101
--: postgres, explained but not executed
EXPLAIN SELECT name FROM customer
=> EXPLAIN SELECT name FROM customer
--: mysql, a table is described
DESCRIBE customer
=> DESCRIBE customer
--: sqlite, two tables without a condition may be meant
SELECT c.name, p.amount FROM customer c, purchase p
=> SELECT c.name, p.amount FROM customer AS c CROSS JOIN purchase AS p LIMIT 101
