import assert from 'node:assert/strict'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { startHttps, ticket, visit, type TestHttps } from '../gateway/listeners/support.ts'
import { VERSIONS } from './support.ts'

const SLOT = 12 * 3_600_000
type Version = (typeof VERSIONS)[number]

suite('session ticket keys', () => {
  const secret = Buffer.alloc(48, 5)
  let now = 1000 * SLOT
  const start = (ticketKeys = secret) => startHttps({}, { ticketKeys, now: () => now })
  const by = (maxVersion: Version) => ({
    servername: 'shop.adit.localhost',
    rejectUnauthorized: false,
    maxVersion,
  })

  async function resumes({ port }: TestHttps, version: Version, session: Buffer): Promise<boolean> {
    const client = await visit(port, { ...by(version), session })
    const reused = client.isSessionReused()
    await once(client.end().resume(), 'close')
    return reused
  }

  for (const version of VERSIONS) {
    test(`are rotated, and the previous one still decrypts its tickets (${version})`, async () => {
      await using https = await start()
      now = 1000 * SLOT
      const first = await ticket(https.port, by(version))
      now += SLOT - 1
      assert.equal(await resumes(https, version, first), true, 'until the last moment of its time')
      now += SLOT
      assert.equal(await resumes(https, version, first), true, 'in the time of the next key')
      const second = await ticket(https.port, by(version))
      now += 1
      assert.equal(await resumes(https, version, first), false, 'in the time of the one after that')
      assert.equal(await resumes(https, version, second), true)
      now += 10 * SLOT
      assert.equal(await resumes(https, version, second), false, 'after a long sleep')
      now -= 11 * SLOT
      assert.equal(await resumes(https, version, first), true, 'when the clock was set back')
    })

    test(`are the same in all processes with one secret, and in no others (${version})`, async () => {
      now = 2000 * SLOT
      await using one = await start()
      const session = await ticket(one.port, by(version))
      now += SLOT
      await using two = await start()
      await using stranger = await start(Buffer.alloc(48, 6))
      assert.equal(await resumes(two, version, session), true)
      assert.equal(await resumes(stranger, version, session), false)
    })
  }
})
