import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startPostgres } from '../../support/postgres.ts'
import type { Answer, Caller } from '../../support/server.ts'
import { Random, seedOfRun } from './random.ts'
import { check, newWriters, Victim } from './victim.ts'
import type { Writer } from './writer.ts'
import { Folder } from '../../support/folder.ts'

/** Writes until a call is refused; resolves to the refusal. */
async function writeUntilRefused(writer: Writer, api: Caller, acknowledged: () => void): Promise<Answer> {
  for (;;) {
    const answer = (await writer.attempt(api)) ?? assert.fail('the server did not answer')
    if (answer.status >= 300) return answer
    acknowledged()
  }
}

function assertUnavailable({ status, headers, body }: Answer): void {
  assert.equal(status, 503, JSON.stringify(body))
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.equal(body.status_code, 503)
  assert.match(body.error_code, /^ERR_ADIT_\d+$/)
  assert.match(body.msg, /database/)
  assert.match(body.details.operation_id, /^op_/)
}

suite('the database crashes during writes', () => {
  test('writes are rejected until it is back, and no acknowledged write is lost', async context => {
    const seed = seedOfRun()
    context.diagnostic(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    const writers = newWriters(random)
    using folder = new Folder()
    const postgres = await startPostgres()
    try {
      await using victim = await Victim.start(folder, { ADIT_DATABASE_URL: await postgres.newDatabase() })
      const { api } = victim.server
      for (let crash = 0; crash < 3; crash++) {
        const enough = Promise.withResolvers<void>()
        let left = 50 + random.below(200)
        const acknowledged = () => {
          left -= 1
          if (left === 0) enough.resolve()
        }
        const writing = Promise.all(writers.map(writer => writeUntilRefused(writer, api, acknowledged)))
        await Promise.race([enough.promise, writing])
        await postgres.crash()
        for (const answer of await writing) assertUnavailable(answer)

        assertUnavailable(await api.post('/ip_policies'))
        assertUnavailable(await api.get('/ip_policies'))
        assert.equal((await api.get('/readyz')).status, 503)
        await postgres.restart()
        assert.equal((await api.get('/readyz')).status, 200)
        await check(victim.server, writers)
      }
      assert.equal(await victim.server.end('SIGTERM'), 0)
    } finally {
      await postgres.stop()
    }
  })
})
