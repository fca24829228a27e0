import { createHash } from 'node:crypto'
import type { Dialect } from '#store/dialect.ts'
import { query, type Steps } from '#store/engine.ts'
import { StoreError } from '#store/store-error.ts'

/** A step from one schema to the next. A released one never changes: databases store its checksum. */
export interface Migration {
  readonly version: number
  /**
   * The oldest version whose programs can use the schema after this migration, so that they can run together with newer ones
   * during an upgrade. By default none can.
   */
  readonly compatibleFrom?: number
  readonly statements: (dialect: Dialect) => readonly string[]
}

export const migrations: readonly Migration[] = [
  {
    version: 1,
    statements: ({ nameType: name, integer, tableEnd, keyedTableEnd }) => [
      `CREATE TABLE resource (
        id ${name} PRIMARY KEY,
        kind ${name} NOT NULL,
        parent ${name} REFERENCES resource (id),
        version ${integer} NOT NULL,
        body TEXT NOT NULL
      ) ${keyedTableEnd}`,
      'CREATE INDEX resource_kind ON resource (kind, id)',
      'CREATE INDEX resource_kind_parent ON resource (kind, parent, id) WHERE parent IS NOT NULL',
      // Without it every deletion would scan all rows for children.
      'CREATE INDEX resource_parent ON resource (parent, id) WHERE parent IS NOT NULL',
      `CREATE TABLE reference (
        source ${name} NOT NULL REFERENCES resource (id) ON DELETE CASCADE,
        target ${name} NOT NULL REFERENCES resource (id),
        PRIMARY KEY (source, target)
      ) ${keyedTableEnd}`,
      'CREATE INDEX reference_target ON reference (target, source)',
      `CREATE TABLE claim (
        namespace ${name} NOT NULL,
        value ${name} NOT NULL,
        owner ${name} NOT NULL REFERENCES resource (id) ON DELETE CASCADE,
        PRIMARY KEY (namespace, value)
      ) ${keyedTableEnd}`,
      'CREATE INDEX claim_owner ON claim (owner)',
      `CREATE TABLE change (
        revision ${integer} PRIMARY KEY,
        kind ${name} NOT NULL,
        id ${name} NOT NULL,
        op ${name} NOT NULL
      ) ${tableEnd}`,
      `CREATE TABLE event (
        sequence ${integer} PRIMARY KEY,
        id ${name} NOT NULL UNIQUE,
        type ${name} NOT NULL,
        at ${name} NOT NULL,
        body TEXT NOT NULL
      ) ${tableEnd}`,
      'CREATE INDEX event_at ON event (at)',
      `CREATE TABLE meta (key ${name} PRIMARY KEY, value TEXT NOT NULL) ${keyedTableEnd}`,
      // One row: the numbers of the latest change and the latest event.
      `CREATE TABLE counter (
        id ${integer} PRIMARY KEY CHECK (id = 1),
        revision ${integer} NOT NULL,
        sequence ${integer} NOT NULL
      ) ${tableEnd}`,
      'INSERT INTO counter (id, revision, sequence) VALUES (1, 0, 0)',
    ],
  },
  {
    version: 2,
    statements: ({ nameType: name, integer, keyedTableEnd }) => [
      // Times are seconds since 1970; `resolution` is the length of a period.
      `CREATE TABLE usage (
        resolution ${integer} NOT NULL,
        start ${integer} NOT NULL,
        dimension ${name} NOT NULL,
        owner ${name} NOT NULL,
        series ${name} NOT NULL,
        requests ${integer} NOT NULL,
        errors ${integer} NOT NULL,
        bytes_in ${integer} NOT NULL,
        bytes_out ${integer} NOT NULL,
        latency TEXT NOT NULL,
        PRIMARY KEY (resolution, start, dimension, owner, series)
      ) ${keyedTableEnd}`,
      'CREATE INDEX usage_series ON usage (resolution, dimension, owner, series, start)',
      // The last addition of each writer, so that one whose outcome is unknown can be repeated.
      `CREATE TABLE usage_writer (
        writer ${name} PRIMARY KEY,
        addition ${integer} NOT NULL,
        at ${integer} NOT NULL
      ) ${keyedTableEnd}`,
      'CREATE INDEX usage_writer_at ON usage_writer (at)',
    ],
  },
  {
    version: 3,
    // Only servers on PostgreSQL can form a cluster.
    statements: dialect => (dialect.name === 'postgres' ? clusterTables(dialect) : []),
  },
  {
    version: 4,
    // Earlier programs write all records of a node at once, so that others never see a part of them.
    compatibleFrom: 3,
    statements: ({ name }) =>
      name === 'postgres' ? ['ALTER TABLE node ADD COLUMN restoring BOOLEAN NOT NULL DEFAULT false'] : [],
  },
]

/** Who is online is lost with the database server anyway, and written often: those tables are not logged. */
const clusterTables = ({ nameType: name, integer }: Dialect): readonly string[] => [
  'CREATE SEQUENCE node_epoch AS BIGINT',
  `CREATE TABLE node (
    id ${name} PRIMARY KEY,
    epoch ${integer} NOT NULL,
    info TEXT NOT NULL,
    clients ${integer} NOT NULL,
    draining BOOLEAN NOT NULL,
    lease_until TIMESTAMPTZ NOT NULL
  )`,
  // One row: which content the tables below have, and the number of the latest change.
  `CREATE UNLOGGED TABLE online_state (
    id ${integer} PRIMARY KEY CHECK (id = 1),
    incarnation ${name} NOT NULL,
    sequence ${integer} NOT NULL
  )`,
  `CREATE UNLOGGED TABLE online_session (
    id ${name} PRIMARY KEY,
    node ${name} NOT NULL,
    epoch ${integer} NOT NULL,
    body TEXT NOT NULL
  )`,
  'CREATE INDEX online_session_node ON online_session (node)',
  `CREATE UNLOGGED TABLE online_tunnel (
    id ${name} PRIMARY KEY,
    node ${name} NOT NULL,
    epoch ${integer} NOT NULL,
    place ${name},
    address ${name},
    body TEXT NOT NULL
  )`,
  'CREATE INDEX online_tunnel_node ON online_tunnel (node)',
  'CREATE INDEX online_tunnel_place ON online_tunnel (place)',
  'CREATE INDEX online_tunnel_address ON online_tunnel (address)',
  // Several tunnels of one user may share an address; two users never do, whatever the writers do.
  `CREATE UNLOGGED TABLE online_address (address ${name} PRIMARY KEY, owner ${name} NOT NULL)`,
  `CREATE UNLOGGED TABLE online_change (sequence ${integer} PRIMARY KEY, body TEXT NOT NULL)`,
]

interface Applied {
  readonly version: number
  readonly checksum: string
}

const checksum = (statements: readonly string[]) =>
  createHash('sha256').update(statements.join(';\n')).digest('hex')

/** Rejects when there is no Adit database, or its schema is not up to date. */
export function* checkInstallation(dialect: Dialect): Steps<void> {
  const [found] = yield* query<{ readonly count: number }>(dialect.countTables, 'migration', 'meta')
  if (Number(found?.count) < 2)
    throw new StoreError('unusable', 'The source has no installation of Adit: is it another database?')
  yield* checkSchema(dialect)
}

/** Rejects unless the schema is up to date. */
export function* checkSchema(dialect: Dialect, known: readonly Migration[] = migrations): Steps<void> {
  const present = yield* applied()
  yield* verify(dialect, known, present)
  const missing = known.filter(({ version }) => !present.some(other => other.version === version))
  if (missing.length === 0) return
  const text =
    'The schema of the database must change first, which cannot be done while another process uses it: stop that one, then start this one.'
  throw new StoreError('unusable', text)
}

/** Brings the schema up to date: every migration in a transaction of its own, under a lock all openers share. */
export function* migrate(dialect: Dialect, known: readonly Migration[] = migrations): Steps<void> {
  yield* query(dialect.begin)
  yield* query(dialect.lockSchema)
  yield* query(
    `CREATE TABLE IF NOT EXISTS migration (version ${dialect.integer} PRIMARY KEY, checksum TEXT NOT NULL)
      ${dialect.tableEnd}`,
  )
  yield* verify(dialect, known, yield* applied())
  yield* query('COMMIT')

  for (const migration of known) yield* apply(dialect, migration)
}

function* apply(dialect: Dialect, { version, compatibleFrom, statements }: Migration): Steps<void> {
  yield* query(dialect.begin)
  yield* query(dialect.lockSchema)
  // Another process may have applied it while this one waited for the lock.
  if (!(yield* applied()).some(other => other.version === version)) {
    const texts = statements(dialect)
    for (const text of texts) yield* query(text)
    yield* query('INSERT INTO migration (version, checksum) VALUES ($1, $2)', version, checksum(texts))
    if (compatibleFrom !== undefined)
      yield* query(
        'INSERT INTO meta (key, value) VALUES ($1, $2)',
        compatibleKey(version),
        String(compatibleFrom),
      )
  }
  yield* query('COMMIT')
}

const applied = () => query<Applied>('SELECT version, checksum FROM migration ORDER BY version')

/** Older programs do not know the migration, so the database has what it declares. */
const compatibleKey = (version: number): string => `schema_${version}_compatible_from`

/** All such keys, as a pattern of LIKE. */
export const COMPATIBLE_KEYS = 'schema%compatible_from'

function* isCompatible(version: number, newest: number): Steps<boolean> {
  const [found] = yield* query<{ readonly value: string }>(
    'SELECT value FROM meta WHERE key = $1',
    compatibleKey(version),
  )
  return found !== undefined && Number(found.value) <= newest
}

function* verify(dialect: Dialect, known: readonly Migration[], present: readonly Applied[]): Steps<void> {
  const newest = Math.max(0, ...known.map(migration => migration.version))
  for (const { version, checksum: recorded } of present) {
    if (version > newest) {
      if (yield* isCompatible(version, newest)) continue
      throw new StoreError(
        'newer_schema',
        `The database has schema version ${version}, but this program knows only versions up to ${newest}. Start the newer program.`,
      )
    }
    const migration = known.find(other => other.version === version)
    if (migration === undefined || checksum(migration.statements(dialect)) !== recorded) {
      throw new StoreError('unusable', `The database was migrated to version ${version} by another program.`)
    }
  }
}
