import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { Folder } from '../../support/folder.ts'
import { readBody, gateway } from './support.ts'

const run = promisify(execFile)
const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const content = randomBytes(5 * 2 ** 20)

suite('curl', () => {
  test('uploads and downloads 5 MiB over one HTTP/2 connection', async () => {
    using folder = new Folder()
    const sent = folder.file('sent')
    writeFileSync(sent, content)
    await using host = await gateway(async ({ body }) => {
      const { bytes } = await readBody(body)
      const echoed = bodyOf(bytes)
      const head = { status: 200, reason: '', framing: echoed.framing, fields: new Fields('X-A: b\r\n') }
      return { head, body: echoed }
    })
    const url = `https://127.0.0.1:${host.port}/`
    const each = ['--http2', '-k', '-s', '-D-', '--data-binary', `@${sent}`]
    const command = [...each, url, '--next', ...each, url]
    const { stdout } = await run('curl', command, { encoding: 'buffer', maxBuffer: 2 ** 25 })
    const heads = stdout.toString('latin1').match(/HTTP\/2 200 \r\ncontent-length: 5242880\r\nx-a: b\r\n/g)
    assert.equal(heads?.length, 2)
    assert.equal(digestOf(stdout.subarray(-content.length)), digestOf(content))
    assert.equal(host.connections.length, 1)
  })
})
