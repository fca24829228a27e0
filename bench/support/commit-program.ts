import { DatabaseSync } from 'node:sqlite'

interface CommitJob {
  readonly file: string
  readonly milliseconds: number
}

/** Only commits of one row each, as durable as ours: the disk's maximum one at a time. */
process.on('message', ({ file, milliseconds }: CommitJob) => {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE IF NOT EXISTS resource (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT')
  const insert = database.prepare('INSERT INTO resource (body) VALUES (?)')
  const body = JSON.stringify({ description: 'bench', metadata: '', created_at: new Date().toISOString() })
  const start = performance.now()
  let commits = 0
  for (; performance.now() - start < milliseconds; commits++) insert.run(body)
  const perSecond = (commits / (performance.now() - start)) * 1000
  database.close()
  process.send?.({ perSecond })
})
