import type { BulkDialect, Dialect } from '#store/dialect.ts'

const ROW = 'id, kind, parent, version, body'
const CHANGE = 'revision, kind, id, op'
const EVENT = 'sequence, id, type, at, body'
const qualified = (table: string) => ROW.replaceAll(/\w+/g, column => `${table}.${column}`)

const bulkStatements = ({ lists, items, raiseCounter }: BulkDialect, integer: string) => {
  const row = items(['TEXT', 'TEXT', 'TEXT', integer, 'TEXT'])
  const change = items([integer, 'TEXT', 'TEXT', 'TEXT'])
  const event = items([integer, 'TEXT', 'TEXT', 'TEXT', 'TEXT'])
  return {
    insertRows: `INSERT INTO resource (${ROW}) SELECT ${row} FROM ${lists('$1')}
      ON CONFLICT DO NOTHING RETURNING id`,
    writeLog: `WITH changes AS (INSERT INTO change (${CHANGE}) SELECT ${change} FROM ${lists('$1')}),
      events AS (INSERT INTO event (${EVENT}) SELECT ${event} FROM ${lists('$2')})
      UPDATE counter SET revision = $3, sequence = $4 WHERE id = 1`,
    /** A whole transaction: rows and events with the number of each. Every part needs the lock of `latest` first. */
    insertGroup: `WITH latest AS (${raiseCounter('$3', '$4')}),
      resources AS (INSERT INTO resource (${ROW}) SELECT ${row} FROM latest, ${lists('$1')}),
      changes AS (INSERT INTO change (${CHANGE})
        SELECT latest.revision - $3 + position, item->>1, item->>0, 'insert' FROM latest, ${lists('$1')}),
      events AS (INSERT INTO event (${EVENT})
        SELECT latest.sequence - $4 + position, ${items(['TEXT', 'TEXT', 'TEXT', 'TEXT'])}
        FROM latest, ${lists('$2')})
      SELECT revision, sequence FROM latest`,
  }
}

/** The SQL of one engine. Parameters are `$1`, `$2` and so on for both. */
export const statements = ({ each, among, begin, lockCounter, inBulk, integer }: Dialect) => ({
  begin,
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  savepoint: 'SAVEPOINT batch',
  release: 'RELEASE SAVEPOINT batch',
  undo: 'ROLLBACK TO SAVEPOINT batch',

  lockCounter,
  readCounter: 'SELECT revision, sequence FROM counter WHERE id = 1',
  touchCounter: 'UPDATE counter SET revision = revision WHERE id = 1',
  writeCounter: 'UPDATE counter SET revision = $1, sequence = $2 WHERE id = 1',

  standing: 'SELECT id, kind, version FROM resource WHERE id = $1',
  standingAmong: `SELECT id, kind, version FROM resource WHERE id ${among('$1')}`,
  insertRow: `INSERT INTO resource (${ROW}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING id`,
  updateRow: 'UPDATE resource SET kind = $2, parent = $3, version = $4, body = $5 WHERE id = $1',
  removeRow: 'DELETE FROM resource WHERE id = $1',
  dependent: `SELECT min(id) AS id FROM (
    SELECT min(source) AS id FROM reference WHERE target = $1
    UNION ALL SELECT min(id) FROM resource WHERE parent = $1) AS dependents`,

  insertReferences: `INSERT INTO reference (source, target) SELECT $2, them.* FROM (${each}) AS them`,
  removeReferences: 'DELETE FROM reference WHERE source = $1',
  insertClaim: `INSERT INTO claim (namespace, value, owner) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING RETURNING owner`,
  claimOwner: 'SELECT owner FROM claim WHERE namespace = $1 AND value = $2',
  removeClaims: 'DELETE FROM claim WHERE owner = $1',
  insertChange: `INSERT INTO change (${CHANGE}) VALUES ($1, $2, $3, $4)`,
  insertEvent: `INSERT INTO event (${EVENT}) VALUES ($1, $2, $3, $4, $5)`,
  /** Undefined where a statement for each row is faster. */
  inBulk: inBulk && bulkStatements(inBulk, integer),

  row: `SELECT ${ROW} FROM resource WHERE id = $1`,
  rows: `SELECT ${ROW} FROM resource WHERE id ${among('$1')}`,
  holder: `SELECT ${qualified('resource')} FROM claim JOIN resource ON resource.id = claim.owner
    WHERE claim.namespace = $1 AND claim.value = $2`,
  referrers: `SELECT ${qualified('resource')} FROM reference JOIN resource ON resource.id = reference.source
    WHERE reference.target = $1 ORDER BY reference.source LIMIT $2`,
  changes: 'SELECT revision, kind, id, op FROM change WHERE revision > $1 ORDER BY revision LIMIT $2',
  events: `SELECT ${EVENT} FROM event WHERE sequence > $1 ORDER BY sequence LIMIT $2`,

  event: `SELECT ${EVENT} FROM event WHERE id = $1`,
  newestEvents: `SELECT ${EVENT} FROM event ORDER BY id DESC LIMIT $1`,
  eventsBefore: `SELECT ${EVENT} FROM event WHERE id < $1 ORDER BY id DESC LIMIT $2`,

  readMeta: 'SELECT value FROM meta WHERE key = $1',
  insertMeta: 'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING',

  pruneChanges: `DELETE FROM change WHERE revision IN (
    SELECT revision FROM change WHERE revision <= $1 ORDER BY revision LIMIT $2) RETURNING revision`,
  pruneEvents: `DELETE FROM event WHERE sequence IN (
    SELECT sequence FROM event WHERE at < $1 AND sequence <= $2 ORDER BY at LIMIT $3) RETURNING sequence`,
})

export type Statements = ReturnType<typeof statements>
export type BulkStatements = ReturnType<typeof bulkStatements>

/** A page of one kind's rows, newest first; `$1` is the kind and the last parameter the limit. */
export function pageOfRows(narrowed: { readonly parent: boolean; readonly before: boolean }): string {
  const conditions = ['kind', ...(narrowed.parent ? ['parent'] : []), ...(narrowed.before ? ['id'] : [])]
  const where = conditions.map((column, at) => `${column} ${column === 'id' ? '<' : '='} $${at + 1}`)
  return `SELECT ${ROW} FROM resource WHERE ${where.join(' AND ')}
    ORDER BY id DESC LIMIT $${conditions.length + 1}`
}
