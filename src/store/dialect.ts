/** All differences between the SQL of the two engines. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** The type of ids and other names, which compare byte by byte. */
  readonly nameType: string
  readonly integer: string
  /** What follows the closing parenthesis of CREATE TABLE. */
  readonly tableEnd: string
  /** The same for a table with a text primary key: its rows are in the tree of that key. */
  readonly keyedTableEnd: string
  /** The strings of the JSON array that is parameter `$1`, as a subquery. */
  readonly each: string
  /** The condition that a column equals one of the strings of such a parameter, in a form that uses an index. */
  readonly among: (parameter: `$${number}`) => string
  /** Undefined where a statement for each row is faster: with PostgreSQL each is a round trip. */
  readonly inBulk: BulkDialect | undefined
  readonly begin: string
  /** The first statement of a write transaction: it serializes writers. */
  readonly lockCounter: string
  /** The first statement of a migration's transaction. */
  readonly lockSchema: string
  /** The first statement of a transaction that adds usage. */
  readonly lockUsage: string
  /** The larger of two numbers. */
  readonly countTables: string
}

/** Writes rows that are the lists of a JSON array. */
export interface BulkDialect {
  /** The lists of the array, as a table with the number of each from 1 in its column `position`. */
  readonly lists: (parameter: `$${number}`) => string
  /** The values of one list, with these types. */
  readonly items: (types: readonly string[]) => string
  /** Locks the counter like `lockCounter`, adds these parameters to the two numbers and returns the sums. */
  readonly raiseCounter: (revisions: `$${number}`, events: `$${number}`) => string
}

export const sqlite: Dialect = {
  name: 'sqlite',
  nameType: 'TEXT',
  integer: 'INTEGER',
  tableEnd: 'STRICT',
  keyedTableEnd: 'STRICT, WITHOUT ROWID',
  each: 'SELECT value FROM json_each($1)',
  among: parameter => `IN (SELECT value FROM json_each(${parameter}))`,
  inBulk: undefined,
  begin: 'BEGIN IMMEDIATE',
  // BEGIN IMMEDIATE holds the only write lock there is.
  lockCounter: 'SELECT revision, sequence FROM counter WHERE id = 1',
  lockSchema: 'SELECT 1',
  lockUsage: 'SELECT 1',
  countTables: "SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name IN ($1, $2)",
}

/** PostgreSQL notifies its listeners here of every commit to the store. */
export const CHANGES_CHANNEL = 'adit_changes'

// Acknowledged writes must be durable, whatever the database's default for synchronous_commit. The other servers of a
// cluster are notified of the commit; nothing else listens.
const ON_COMMIT = `set_config('synchronous_commit', 'on', true), pg_notify('${CHANGES_CHANNEL}', '')`

export const postgres: Dialect = {
  name: 'postgres',
  nameType: 'TEXT COLLATE "C"',
  integer: 'BIGINT',
  tableEnd: '',
  keyedTableEnd: '',
  each: 'SELECT json_array_elements_text($1::json)',
  among: parameter => `= ANY (ARRAY(SELECT json_array_elements_text(${parameter}::json)))`,
  inBulk: {
    lists: parameter => `jsonb_array_elements(${parameter}::jsonb) WITH ORDINALITY AS lists (item, position)`,
    items: types => types.map((type, at) => `(item->>${at})::${type}`).join(', '),
    raiseCounter: (revisions, events) => `UPDATE counter
      SET revision = revision + ${revisions}, sequence = sequence + ${events} WHERE id = 1
      RETURNING revision, sequence, ${ON_COMMIT}`,
  },
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  // Each later statement sees all that earlier holders of the row's lock have committed.
  lockCounter: `SELECT revision, sequence, ${ON_COMMIT} FROM counter WHERE id = 1 FOR UPDATE`,
  // The number only has to differ from those of other programs in the same database.
  lockSchema: 'SELECT pg_advisory_xact_lock(7237089412)',
  lockUsage: 'SELECT pg_advisory_xact_lock(7237089413)',
  countTables: `SELECT count(*) AS count FROM pg_tables
    WHERE schemaname = current_schema() AND tablename IN ($1, $2)`,
}
