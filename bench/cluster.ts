import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { binds } from './support/cluster/binds.ts'
import { databaseWork } from './support/cluster/database-work.ts'
import { forwarded } from './support/cluster/forwarded.ts'
import { visibility } from './support/cluster/visibility.ts'
import type { Row } from './support/row.ts'

/** Several nodes on one PostgreSQL, all on this machine, against one of them alone. */
export async function* cluster(): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  try {
    yield* forwarded(folder)
    yield* binds()
    yield* visibility()
    yield* databaseWork()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
