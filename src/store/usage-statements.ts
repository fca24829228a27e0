import type { Dialect } from '#store/dialect.ts'

const SUMS = ['requests', 'errors', 'bytes_in', 'bytes_out']
const KEY = 'resolution, start, dimension, owner, series'
// PostgreSQL sums BIGINT as NUMERIC, which its driver returns as text.
const sums = SUMS.map(name => `CAST(sum(${name}) AS BIGINT)`).join(', ')

/** The SQL for usage. */
export const usageStatements = ({ among, begin, lockUsage }: Dialect) => {
  // $1 and $2 select the owners: a JSON array, or 1 for all.
  const periods = `resolution = $3 AND start >= $4 AND start < $5 AND dimension = $6
    AND (CAST($2 AS BIGINT) = 1 OR owner ${among('$1')})`
  return {
    begin,
    commit: 'COMMIT',
    lock: lockUsage,
    lastAddition: 'SELECT addition FROM usage_writer WHERE writer = $1',
    writeAddition: `INSERT INTO usage_writer (writer, addition, at) VALUES ($1, $2, $3)
      ON CONFLICT (writer) DO UPDATE SET addition = excluded.addition, at = excluded.at`,
    forgetWriters: 'DELETE FROM usage_writer WHERE at < $1',

    stored: `SELECT owner, series, latency FROM usage
      WHERE resolution = $1 AND start = $2 AND dimension = $3`,
    add: `INSERT INTO usage (${KEY}, ${SUMS.join(', ')}, latency)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      ON CONFLICT (${KEY}) DO UPDATE SET
      ${SUMS.map(name => `${name} = usage.${name} + excluded.${name}`).join(', ')}, latency = excluded.latency`,

    totals: `SELECT owner, series, ${sums} FROM usage
      WHERE ${periods} AND (CAST($7 AS TEXT) IS NULL OR series ${among('$7')})
      GROUP BY owner, series ORDER BY sum(requests) DESC, series, owner LIMIT $8`,
    sum: `SELECT ${sums} FROM usage WHERE ${periods}`,
    points: `SELECT start, latency, ${SUMS.join(', ')} FROM usage
      WHERE resolution = $1 AND dimension = $2 AND owner = $3 AND series = $4 AND start >= $5 AND start < $6
      ORDER BY start`,
    prune: `DELETE FROM usage WHERE (${KEY}) IN (
      SELECT ${KEY} FROM usage WHERE resolution = $1 AND start < $2 ORDER BY start LIMIT $3) RETURNING start`,
  }
}

export type UsageStatements = ReturnType<typeof usageStatements>
