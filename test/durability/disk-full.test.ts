import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { Folder } from '../server/program.ts'
import type { Answer, Caller } from '../support/server.ts'
import { Victim } from './victim.ts'

const MEBIBYTE = 2 ** 20
const CONCURRENT = 8
const BODY = 'x'.repeat(30_000)

interface Backend {
  readonly id: string
  readonly description: string
}

/** Writes on several connections until each has been refused; resolves to what was made and the refusals. */
async function fill(api: Caller): Promise<{ made: Backend[]; refusals: Answer[] }> {
  const made: Backend[] = []
  const writer = async (_: unknown, name: number): Promise<Answer> => {
    for (let count = 0; count < 1000; count++) {
      const answer = await api.post('/backends/http_response', {
        description: `${name}.${count}`,
        body: BODY,
      })
      if (answer.status !== 201) return answer
      made.push(answer.body)
    }
    return assert.fail('the disk did not fill')
  }
  return { refusals: await Promise.all(Array.from({ length: CONCURRENT }, writer)), made }
}

function assertFull({ status, body }: Answer): void {
  assert.equal(status, 507, JSON.stringify(body))
  assert.equal(body.status_code, 507)
  assert.match(body.error_code, /^ERR_ADIT_\d+$/)
  assert.match(body.msg, /disk .* full/)
  assert.match(body.details.operation_id, /^op_/)
}

async function assertKept(api: Caller, made: readonly Backend[]): Promise<void> {
  for (const { id, description } of made) {
    const { status, body } = await api.get(`/backends/http_response/${id}`)
    assert.deepEqual([status, body?.description, body?.body === BODY], [200, description, true], id)
  }
  const { body } = await api.get('/backends/http_response')
  assert.deepEqual(body.backends.map(({ id }: Backend) => id).toSorted(), made.map(({ id }) => id).toSorted())
}

suite('a full disk', () => {
  let folder: Folder
  before(() => {
    folder = new Folder()
    // Throws with mount's own words where mounting is not permitted: this test cannot be done without.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder.path])
  })
  after(() => {
    execFileSync('umount', [folder.path])
    folder[Symbol.dispose]()
  })

  test('refuses writes, answers reads, loses nothing, and is over once there is space', async () => {
    const ballast = join(folder.path, 'ballast')
    await using full = await Victim.start(folder, {})
    const { api } = full.server
    await writeFile(ballast, Buffer.alloc(5 * MEBIBYTE))
    const { made, refusals } = await fill(api)
    for (const refusal of refusals) assertFull(refusal)
    assert.ok(made.length > 0)
    await assertKept(api, made)
    assert.equal((await api.get('/readyz')).status, 200)

    await rm(ballast)
    const { status, body } = await api.post('/backends/http_response', { description: 'after', body: BODY })
    assert.equal(status, 201)
    const [first] = made.splice(0, 1)
    assert.equal((await api.delete(`/backends/http_response/${first?.id}`)).status, 204)
    await assertKept(api, [...made, body])
    await full.server.end('SIGKILL')

    await using again = await Victim.start(folder, {})
    await assertKept(again.server.api, [...made, body])
  })
})
