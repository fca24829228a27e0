import type { Dialect } from '#store/dialect.ts'

export type SqlValue = string | number | null

/** One row, column by column. */
export type Columns = readonly unknown[]

/** One SQL statement with its parameters, which the text names `$1`, `$2` and so on. */
export interface Step {
  readonly text: string
  readonly values: readonly SqlValue[]
  /** The statement is a transaction by itself: if its response is lost, the result is unknown. */
  readonly isTransaction?: boolean
}

/**
 * Database work, written once for all engines: it yields statements and is resumed with their rows. SQLite runs it
 * synchronously, PostgreSQL awaits every result.
 */
export type Steps<Result> = Generator<Step, Result, readonly unknown[]>

/** The same for work that waits for something else in between. */
export type AsyncSteps<Result> = AsyncGenerator<Step, Result, readonly unknown[]>

/** A database for the store. Every driver failure is thrown as a `StoreError`. */
export interface Engine {
  readonly dialect: Dialect
  /** True while no other process can write to the database. */
  readonly alone: boolean
  /** How many connections it has opened. A new one may be to another server. */
  readonly connections: number
  /** Another process starts to use the database too. */
  share(): void
  /** The other process has exited. Rejects while it has not. */
  own(): Promise<void>
  /** Runs a statement on its own; its rows are arrays, which are faster than objects. */
  read(step: Step): Promise<readonly Columns[]>
  /** Runs the steps on one connection. On failure the transaction is rolled back. */
  run<Result>(steps: Steps<Result>): Promise<Result>
  close(): Promise<void>
}

/** An engine that can also run steps that wait in between. Nothing else may use it meanwhile. */
export interface CopyEngine extends Engine {
  runSlowly<Result>(steps: AsyncSteps<Result>): Promise<Result>
}

/** Runs one statement. The caller asserts the shape of its rows, next to the SQL. */
export function* query<Fields>(text: string, ...values: readonly SqlValue[]): Steps<readonly Fields[]> {
  return (yield { text, values }) as readonly Fields[]
}

/** Runs one statement that is a transaction by itself. */
export function* transaction<Fields>(text: string, ...values: readonly SqlValue[]): Steps<readonly Fields[]> {
  return (yield { text, values, isTransaction: true }) as readonly Fields[]
}
