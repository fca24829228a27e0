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
  /**
   * Selects the lists of the JSON array that is the parameter, with these types of their items. Undefined where a
   * statement for each row is faster: with PostgreSQL each is a round trip.
   */
  readonly rowsOf: ((parameter: `$${number}`, types: readonly string[]) => string) | undefined
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

export const sqlite: Dialect = {
  name: 'sqlite',
  nameType: 'TEXT',
  integer: 'INTEGER',
  tableEnd: 'STRICT',
  keyedTableEnd: 'STRICT, WITHOUT ROWID',
  each: 'SELECT value FROM json_each($1)',
  among: parameter => `IN (SELECT value FROM json_each(${parameter}))`,
  rowsOf: undefined,
  begin: 'BEGIN IMMEDIATE',
  // BEGIN IMMEDIATE holds the only write lock there is.
  lockCounter: 'SELECT revision, sequence FROM counter WHERE id = 1',
  lockSchema: 'SELECT 1',
  lockUsage: 'SELECT 1',
  countTables: "SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name IN ($1, $2)",
}

/** PostgreSQL notifies its listeners here of every commit to the store. */
export const CHANGES_CHANNEL = 'adit_changes'

export const postgres: Dialect = {
  name: 'postgres',
  nameType: 'TEXT COLLATE "C"',
  integer: 'BIGINT',
  tableEnd: '',
  keyedTableEnd: '',
  each: 'SELECT json_array_elements_text($1::json)',
  among: parameter => `= ANY (ARRAY(SELECT json_array_elements_text(${parameter}::json)))`,
  rowsOf: (parameter, types) => {
    const items = types.map((type, at) => `(item->>${at})::${type}`)
    return `SELECT ${items.join(', ')} FROM jsonb_array_elements(${parameter}::jsonb) AS item`
  },
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  // Each later statement sees all that earlier holders of the row's lock have committed. Acknowledged writes must be
  // durable, whatever the database's default for synchronous_commit. The other servers of a cluster are notified of the
  // commit; nothing else listens.
  lockCounter: `SELECT revision, sequence, set_config('synchronous_commit', 'on', true),
      pg_notify('${CHANGES_CHANNEL}', '') FROM counter WHERE id = 1 FOR UPDATE`,
  // The number only has to differ from those of other programs in the same database.
  lockSchema: 'SELECT pg_advisory_xact_lock(7237089412)',
  lockUsage: 'SELECT pg_advisory_xact_lock(7237089413)',
  countTables: `SELECT count(*) AS count FROM pg_tables
    WHERE schemaname = current_schema() AND tablename IN ($1, $2)`,
}
