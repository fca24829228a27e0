import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { newId } from '#base/ids.ts'
import { answerJobs } from './answer-jobs.ts'
import { postgresCommits, sqliteCommits, type BareRow } from './bare-commits.ts'

type PostGroupsJob = { readonly url: string } | { readonly file: string }

interface Waiting extends BareRow {
  readonly response: ServerResponse
}

const MAX_GROUP = 256

/**
 * The least that a server of POSTs can do with the transactions of Adit's store: it parses a body, commits it with all
 * that arrived while the group before was being committed, and returns it. No authentication, no checks, no readers.
 */
async function serve(job: PostGroupsJob): Promise<{ port: number }> {
  const commit = 'url' in job ? await postgresCommits(job.url) : await sqliteCommits(job.file)
  const waiting: Waiting[] = []
  let isWorking = false

  const work = async (): Promise<void> => {
    isWorking = true
    while (waiting.length > 0) {
      // All requests of a turn share a group, as in the store.
      await nextTurn()
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
