import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, suite, test } from 'node:test'
import { startServer, type TestServer } from '../support/server.ts'
import { recordOutput } from '../support/leaks.ts'
import { addressOf, visit, web } from './support.ts'
import { readFileSync } from 'node:fs'

const root = join(import.meta.dirname, '../..')

suite('the examples', () => {
  let server: TestServer
  let ca: string
  before(async () => {
    server = await startServer()
    ca = readFileSync(join(server.dataDir, 'ca.pem'), 'utf8')
  })
  after(() => server[Symbol.asyncDispose]())

  /** Runs one as a person would, and visits the address that it shows. */
  async function run(file: string, args: readonly string[] = []): Promise<string> {
    const child = spawn(process.execPath, [join('examples', file), ...args], {
      cwd: root,
      env: {
        PATH: process.env['PATH'],
        ADIT_SERVER_ADDR: addressOf(server),
        ADIT_AUTHTOKEN: server.authtoken,
        ADIT_DATA_DIR: server.dataDir,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    recordOutput(child, [file]).stderr.pipe(process.stderr)
    const { promise, resolve } = Promise.withResolvers<string>()
    createInterface(child.stdout).on('line', line => {
      const found = /https:\S+/.exec(line)?.[0]
      if (found !== undefined) resolve(found)
    })
    const { body } = await visit(`${await promise}/page`, { ca })
    child.kill('SIGINT')
    const [code] = (await once(child, 'close')) as [number | null]
    assert.equal(code, 0)
    return body
  }

  test('forward a port', async () => {
    await using service = await web((request, response) => response.end(`served ${request.url}`))
    assert.equal(await run('forward.ts', [String(service.port)]), 'served /page')
  })

  test('serve HTTP without a port', async () => {
    assert.equal(await run('http-server.ts'), 'Hello 127.0.0.1, you asked for /page\n')
  })
})
