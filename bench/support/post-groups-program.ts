import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { newId, timestamp } from '#base/ids.ts'
import { postgres } from '#store/dialect.ts'
import { openPostgres } from '#store/postgres.ts'
import { statements } from '#store/statements.ts'
import { answerJobs } from './answer-jobs.ts'

interface PostGroupsJob {
  readonly url: string
}

interface Waiting {
  readonly id: string
  readonly body: string
  readonly response: ServerResponse
}

const sql = statements(postgres)
const names = new Map<string, string>()
const MAX_GROUP = 256

/**
 * The least that a server of POSTs can do with the transactions of Adit's store: it parses a body, commits it with all
 * that arrived while the group before was being committed, and returns it. No authentication, no checks, no readers.
 */
async function serve({ url }: PostGroupsJob): Promise<{ port: number }> {
  // Creates the tables.
  await (await openPostgres(url))[Symbol.asyncDispose]()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const waiting: Waiting[] = []
  let isWorking = false

  const run = (text: string, ...values: readonly unknown[]) => {
    const name = names.get(text) ?? `bare_${names.size}`
    names.set(text, name)
    return client.query<{ revision: string; sequence: string }>({ name, text, values: [...values] })
  }

  const commit = async (group: readonly Waiting[]): Promise<void> => {
    await run(sql.begin)
    const { rows } = await run(sql.lockCounter)
    const [revision, sequence] = [Number(rows[0]?.revision), Number(rows[0]?.sequence)]
    const at = timestamp(Date.now())
    const kept = group.map(({ id, body }) => [id, 'ip_policy', null, 1, body])
    const changes = group.map(({ id }, index) => [revision + index + 1, 'ip_policy', id, 'insert'])
    const events = group.map(({ body }, index) => [sequence + index + 1, newId('ev'), 'bench', at, body])
    await run(sql.inBulk?.insertRows ?? '', JSON.stringify(kept))
    const counter = [revision + group.length, sequence + group.length]
    await run(sql.inBulk?.writeLog ?? '', JSON.stringify(changes), JSON.stringify(events), ...counter)
    await run(sql.commit)
  }

  const work = async (): Promise<void> => {
    isWorking = true
    while (waiting.length > 0) {
      const group = waiting.splice(0, MAX_GROUP)
      await commit(group)
      for (const { body, response } of group)
        response
          .writeHead(201, { 'content-type': 'application/json', 'content-length': body.length })
          .end(body)
    }
    isWorking = false
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const id = newId('ipp')
      const given = JSON.parse(Buffer.concat(chunks).toString()) as object
      waiting.push({ id, body: JSON.stringify({ id, ...given }), response })
      if (!isWorking) void work()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port }
}

answerJobs(serve)
