-- Loads the failures of all runs from an object store into DuckDB, for the queries of the article "The failures of all runs".
-- The working directory has commits.txt, the commits in their order. Replace my-failures by the name of the bucket.

INSTALL httpfs;
LOAD httpfs;

CREATE SECRET (TYPE s3, PROVIDER credential_chain);

-- The jobs that have run.
CREATE TABLE jobs AS
SELECT file,
  array_to_string(key[1:-4], '/') AS repository,
  key[-3] AS commit,
  split_part(key[-2], '.', 1) AS run,
  CAST(split_part(key[-2], '.', 2) AS INTEGER) AS attempt,
  replace(key[-1], '.jsonl.gz', '') AS shard
FROM (
  SELECT file, string_split(replace(file, 's3://my-failures/metadata/', ''), '/') AS key
  FROM glob('s3://my-failures/metadata/**/*.jsonl.gz'));

CREATE TABLE failures AS
SELECT repository, commit, run, attempt, shard, fingerprint, test.suite, test.name, outcome,
  failures[1].message AS message, capture.at AS captured,
  concat_ws('/', 's3://my-failures/bundles', repository, commit, run || '.' || attempt, shard,
    parse_filename(bundle)) AS bundle
FROM (
  SELECT filename, bundle, unnest(metadata)
  FROM read_json('s3://my-failures/metadata/**/*.jsonl.gz', format = 'newline_delimited', filename = true,
    columns = {bundle: 'VARCHAR', metadata: 'STRUCT(fingerprint VARCHAR, outcome VARCHAR,
      test STRUCT(suite VARCHAR, name VARCHAR), failures STRUCT(message VARCHAR)[],
      capture STRUCT("at" TIMESTAMP))'})) AS line
JOIN jobs ON jobs.file = line.filename
WHERE outcome <> 'passed';

CREATE TABLE commits AS
SELECT row_number() OVER () AS position, commit
FROM read_csv('commits.txt', header = false, columns = {commit: 'VARCHAR'});

-- The failures whose fingerprint isn't in any bundle of a commit or an earlier one.
CREATE MACRO new_failures(since) AS TABLE
SELECT fingerprint, any_value(suite || '.' || name) AS test, count(*) AS bundles,
  arg_min(commit, position) AS since, arg_min(bundle, position) AS first
FROM failures JOIN commits USING (commit)
GROUP BY fingerprint
HAVING min(position) > (SELECT position FROM commits WHERE commit = since)
ORDER BY bundles DESC, fingerprint;

-- Bundles with the same fingerprint have the same failure.
CREATE VIEW causes AS
SELECT fingerprint, count(*) AS bundles, count(DISTINCT run) AS runs, count(DISTINCT shard) AS shards,
  any_value(suite || '.' || name) AS test, arg_max(message, captured) AS message
FROM failures
GROUP BY fingerprint
ORDER BY bundles DESC, fingerprint
LIMIT 20;

-- The tests that failed, and of which a later attempt of the same run and shard has run and has no bundle.
CREATE VIEW flaky_tests AS
SELECT suite || '.' || name AS test, count(*) AS times, max(captured) AS last
FROM (
  SELECT DISTINCT ON (repository, run, attempt, shard, suite, name) * FROM failures) AS failed
WHERE EXISTS (
  FROM jobs AS later
  WHERE (later.repository, later.run, later.shard) = (failed.repository, failed.run, failed.shard)
    AND later.attempt > failed.attempt
    AND NOT EXISTS (
      FROM failures AS again
      WHERE (again.repository, again.run, again.shard) = (later.repository, later.run, later.shard)
        AND again.attempt = later.attempt
        AND (again.suite, again.name) = (failed.suite, failed.name)))
GROUP BY ALL
ORDER BY times DESC, test;
