-- Statements that are refused: dialect, code, rule.
--: sqlite safety statement_kind
DROP TABLE customer
--: sqlite safety statement_kind
SELECT 1; DELETE FROM customer
--: sqlite multi_statement statement_count
SELECT 1; SELECT 2
--: sqlite safety statement_kind
WITH x AS (SELECT 1) DELETE FROM customer
--: postgres safety statement_kind
WITH x AS (DELETE FROM customer RETURNING id) SELECT id FROM x
--: sqlite safety statement_kind
PRAGMA query_only = OFF
--: sqlite safety statement_kind
ATTACH 'other.db' AS o
--: postgres safety into
SELECT * INTO copied FROM customer
--: postgres safety lock
SELECT * FROM customer FOR UPDATE
--: postgres safety lock
SELECT * FROM (SELECT * FROM customer FOR SHARE) AS c
--: mysql safety variable
SELECT @a := 1
--: mysql safety variable
SELECT @@datadir
--: mysql safety executable_comment
SELECT 1 /*!50000 UNION SELECT 2 */
--: mysql syntax_error hint
SELECT /*+ MAX_EXECUTION_TIME(0) */ name FROM customer
--: postgres safety parameter
SELECT name FROM customer WHERE id = %s
--: clickhouse safety settings
SELECT 1 SETTINGS readonly = 0
--: postgres safety function
SELECT pg_read_file('/etc/passwd')
--: sqlite safety function
SELECT load_extension('x.so')
--: sqlite safety function
SELECT "load_extension"('x.so')
--: postgres safety function_qualified
SELECT pg_catalog.pg_read_file('/etc/passwd')
--: postgres safety function_qualified
SELECT evil.lower('x')
--: oracle safety function_qualified
SELECT UTL_HTTP.REQUEST('http://x') FROM dual
--: oracle safety qualifier_unknown
SELECT UTL_INADDR.GET_HOST_NAME FROM dual
--: snowflake safety qualifier_unknown
SELECT ids.NEXTVAL
--: postgres safety session_function
SELECT current_user
--: postgres safety session_function
SELECT user FROM customer
--: sqlite function_not_found function
SELECT divide(1, 2)
--: duckdb safety table_function
SELECT * FROM read_csv('/etc/passwd')
--: duckdb safety table_form
SELECT * FROM '/etc/passwd'
--: duckdb safety table_form
FROM 'https://x/y.parquet'
--: snowflake safety table_form
SELECT * FROM TABLE('db.public.secret')
--: snowflake safety table_form
SELECT name FROM @stage/file.csv
--: sqlite safety system_catalog
SELECT * FROM sqlite_master
--: sqlite safety table_function
SELECT * FROM pragma_table_info('customer') AS p JOIN sqlite_schema
--: postgres safety system_catalog
SELECT * FROM pg_authid
--: mysql safety system_catalog
SELECT * FROM mysql.user
--: sqlite safety system_catalog
WITH sqlite_master AS (SELECT 1) SELECT * FROM sqlite_master
--: sqlite table_not_found table_unknown
SELECT * FROM costumer
--: sqlite table_not_found table_unknown
SELECT * FROM other.customer
--: postgres table_not_found table_unknown
WITH hidden AS (SELECT * FROM hidden) SELECT * FROM hidden
--: postgres safety cast
SELECT 'pg_authid'::regclass
--: postgres safety cast
SELECT name::secret_type FROM customer
--: postgres safety explain_form
EXPLAIN ANALYZE SELECT name FROM customer
--: postgres safety explain_form
EXPLAIN DELETE FROM customer
--: sqlite column_not_found column_unknown
SELECT nam FROM customer
--: sqlite column_not_found column_unknown
SELECT c.nam FROM customer AS c
--: sqlite ambiguous_column column_ambiguous
SELECT id FROM customer JOIN purchase ON customer.id = purchase.customer_id
--: sqlite missing_alias qualifier_unknown
SELECT customer.name FROM customer AS c
--: sqlite aggregate_misuse aggregate
SELECT name FROM customer WHERE count(*) > 1
--: postgres grouping_error grouping
SELECT name, count(*) FROM customer GROUP BY city
--: sqlite cost size
SELECT printf('%.*c', 1000000000, 'x')
--: sqlite cost size
SELECT hex(zeroblob(100000000))
--: postgres cost size
SELECT repeat(repeat('x', 9999), 9999)
--: postgres cost series
SELECT * FROM generate_series(1, 100000000000)
--: duckdb cost series
SELECT count(*) FROM range(100000) AS a, range(100000) AS b
--: sqlite cost recursion
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n
--: sqlite cost recursion
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i > 0) SELECT i FROM n
--: oracle cost recursion
SELECT LEVEL FROM dual CONNECT BY LEVEL < 1000000000
--: sqlite join_error cartesian_product
SELECT count(*) FROM purchase a, purchase b, purchase c
--: sqlite cost pattern
SELECT name LIKE '%a%a%a%a%a%a%a%a%a%b' FROM customer
--: sqlite syntax_error unreadable
SELECT FROM WHERE
--: sqlite syntax_error unreadable
Here is the query that you asked for
--: sqlite syntax_error unreadable

--: sqlite syntax_error unreadable
SELECT 'unclosed
