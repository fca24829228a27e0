import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { get as getTls } from 'node:https'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { createResource } from '../support/each-store.ts'
import { Folder } from '../support/folder.ts'
import { newMember } from '../support/members.ts'
import { NotifySocket } from '../support/notify-socket.ts'
import { type Process, runAdit, spawnServer } from '../support/server.ts'
import { until } from '../support/until.ts'

suite('a reload', () => {
  const folder = new Folder()
  const path = join(folder.path, 'server.yml')
  let server: Process
  let manager: NotifySocket

  const write = (...lines: readonly string[]): void => writeFileSync(path, `${lines.join('\n')}\n`)

  before(async () => {
    write('region: eu')
    manager = await NotifySocket.open()
    server = await spawnServer(folder.path, {
      ADIT_CONFIG: path,
      ADIT_WORKERS: '2',
      ADIT_TRACES_HEADERS: 'x-key=kept-from-view',
      ADIT_OAUTH_GITHUB: 'client:kept-from-view',
      NOTIFY_SOCKET: manager.path,
    })
  })
  after(async () => {
    await server.end('SIGTERM')
    await until(() => manager.received.at(-1) === 'STOPPING=1')
    await manager[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  /** Whether a request over a connection of its own gets a response. */
  async function isServed(): Promise<boolean> {
    const request = get({ host: '127.0.0.1', port: server.bound.http?.port, agent: false })
    try {
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      await once(response.resume(), 'end')
      return true
    } catch {
      return false
    }
  }

  /** The application that a client signs in with, or the status where there is none. */
  async function signInAt(host: string): Promise<string> {
    const request = getTls({
      host: '127.0.0.1',
      port: server.bound.https?.port,
      servername: host,
      ca: readFileSync(join(folder.path, 'ca.pem')),
      headers: { host, accept: 'text/html' },
      agent: false,
    })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    const { location } = response.headers
    return (location && new URL(location).searchParams.get('client_id')) ?? String(response.statusCode)
  }

  /** The system distributes connections to the processes, so some of many reach each of them. */
  const served = async (): Promise<readonly boolean[]> =>
    Promise.all(Array.from({ length: 20 }, () => isServed()))

  const untilAll = (expected: boolean): Promise<readonly boolean[]> =>
    until(served, { fits: found => found.every(each => each === expected) })

  test('applies what it can in all processes, and lists what needs a restart', async () => {
    await untilAll(true)
    write('region: ap', 'proxy_protocol: 192.0.2.0/24', 'credential_tunnels: 7')
    const { status, body } = await server.api.post('/reload')
    assert.equal(status, 200)
    assert.deepEqual(body, { changed: ['proxy_protocol', 'credential_tunnels'], restart: ['region'] })
    await untilAll(false)
  })

  test('is triggered by SIGHUP, and the service manager is notified', async () => {
    await until(() => manager.received.length > 0)
    write('region: eu')
    server.child.kill('SIGHUP')
    await untilAll(true)
    await until(() => manager.received.length === 3)
    const [started, reloading, reloaded] = manager.received
    assert.deepEqual([started, reloaded], ['READY=1', 'READY=1'])
    assert.match(reloading ?? '', /^RELOADING=1 MONOTONIC_USEC=\d+$/)
    assert.deepEqual((await server.api.post('/reload')).body, { changed: [], restart: [] })
  })

  test('changes nothing if a setting is invalid, and names it', async () => {
    write('proxy_protocol: 192.0.2.0/24', 'credential_tunnels: many')
    const { status, body } = await server.api.post('/reload')
    assert.equal(status, 400)
    assert.equal(body.error_code, 'ERR_ADIT_90492')
    assert.match(body.msg, /"credential_tunnels" in .* must be a whole number/)
    server.child.kill('SIGHUP')
    const logged = await until(() =>
      server
        .output()
        .split('\n')
        .find(line => line.includes('the settings were not reloaded')),
    )
    // The reason is for people, the place in the source is not.
    assert.match(logged, /must be a whole number/)
    assert.doesNotMatch(logged, /\bat .*\.(?:ts|mjs|cjs):\d/)
    assert.equal(server.child.exitCode, null)
    await untilAll(true)
  })

  test('applies the OAuth applications of the operator to endpoints that use them', async () => {
    const host = 'shop.adit.localhost'
    await createResource(server.api, '/reserved_domains', { domain: host })
    const { id } = await createResource(server.api, '/edges/https', { hostports: [`${host}:443`] })
    await createResource(server.api, `/edges/https/${id}/routes`, {
      match: '/',
      match_type: 'path_prefix',
      oauth: { provider: { google: { email_domains: ['example.com'] } } },
    })
    const seen = (): Promise<readonly string[]> =>
      Promise.all(Array.from({ length: 12 }, () => signInAt(host)))
    const untilSeen = (expected: string): Promise<readonly string[]> =>
      until(seen, { fits: found => found.every(each => each === expected) })
    await untilSeen('503')
    for (const application of ['first', 'second']) {
      write(`oauth_google: ${application}:some-secret-of-it`)
      assert.deepEqual((await server.api.post('/reload')).body.changed, ['oauth_google'])
      await untilSeen(application)
    }
    write('')
    await server.api.post('/reload')
    await untilSeen('503')
  })

  test('is a command', async () => {
    write('credential_tunnels: 9')
    const environment = { ADIT_API_URL: server.api.url, ADIT_API_KEY: server.api.token }
    const { code, stdout } = await runAdit(['reload'], environment)
    assert.deepEqual([code, stdout], [0, 'changed: credential_tunnels\nneeds a restart: region\n'])
  })

  test('shows the settings in use with their source, without secrets and for admins', async () => {
    const { status, body } = await server.api.get('/settings')
    assert.equal(status, 200)
    const of = (name: string) => body.settings.find((each: { name: string }) => each.name === name)
    const shown = (name: string): unknown[] => [of(name).value, of(name).source, of(name).origin]
    assert.deepEqual(shown('credential_tunnels'), ['9', 'file', `"credential_tunnels" in ${path}`])
    assert.deepEqual(shown('workers'), ['2', 'environment', 'ADIT_WORKERS'])
    // A new value that needs a restart is not in use.
    assert.deepEqual(shown('region'), ['eu', 'file', `"region" in ${path}`])
    assert.deepEqual(shown('capture_masking'), ['on', 'default', null])
    assert.deepEqual(shown('api_url'), [null, null, null])
    assert.deepEqual(shown('traces_headers'), ['[masked]', 'environment', 'ADIT_TRACES_HEADERS'])
    assert.deepEqual(shown('oauth_github'), ['[masked]', 'environment', 'ADIT_OAUTH_GITHUB'])
    assert.doesNotMatch(JSON.stringify(body), /kept-from-view/)
    const { token } = await newMember(server.api)
    assert.equal((await server.api.get('/settings', { token })).status, 403)
    const environment = { ADIT_API_URL: server.api.url, ADIT_API_KEY: server.api.token }
    const { stdout } = await runAdit(['settings'], environment)
    assert.match(stdout, /^workers: 2 {2}\(ADIT_WORKERS\)$/m)
    assert.doesNotMatch(stdout, /capture_masking|kept-from-view/)
    assert.match(
      (await runAdit(['settings', '--all'], environment)).stdout,
      /^capture_masking: on {2}\(default\)$/m,
    )
  })

  test('is for admins', async () => {
    const { token } = await newMember(server.api)
    assert.equal((await server.api.post('/reload', {}, { token })).body.error_code, 'ERR_ADIT_90491')
  })
})
