import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { isUpdate } from '#cli/agent/update.ts'
import { configFile, spawnAgent, visit, webService, type WatchedProcess } from './agent-support.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { newFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

async function sessionId(): Promise<string> {
  // The session of an agent that has just ended may still be listed.
  const listed = async () => (await server.api.get('/tunnel_sessions')).body.tunnel_sessions
  const [session] = await until(listed, { what: 'one session', fits: found => found.length === 1 })
  return session.id
}

/** The API's response to a command for the only agent online. */
async function command(name: string): Promise<{ status: number; msg: string | undefined }> {
  const { status, body } = await server.api.post(`/tunnel_sessions/${await sessionId()}/${name}`)
  return { status, msg: body?.msg }
}

const online = (agent: WatchedProcess) => agent.waitForOutput(/^url=(\S+) /m)

suite('a gateway', () => {
  test('can stop an agent', async () => {
    await using agent = spawnAgent(server, ['http', '1'])
    await online(agent)
    assert.equal((await command('stop')).status, 204)
    assert.equal(await agent.ends(), 0)
    assert.match(agent.output, /msg="stopped by the gateway"/)
  })

  test('can restart one, which stays the same process and reconnects with another session', async () => {
    await using web = await webService((_, response) => response.end('hello'))
    await using agent = spawnAgent(server, ['http', web.port, '--name', 'again', '--scheme', 'http'])
    await online(agent)
    const first = await sessionId()
    assert.equal((await command('restart')).status, 204)
    const [, url = ''] = await agent.waitForOutput(/^url=\S+ [^]*restarted by the gateway[^]*^url=(\S+) /m)
    assert.notEqual(await sessionId(), first)
    assert.equal((await visit(url)).body, 'hello')
    assert.equal(agent.errorOutput, '')
    assert.equal(await agent.ends('SIGTERM'), 0)
  })

  test('ends an agent whose credential was deleted with 4', async () => {
    const { body } = await server.api.post('/credentials', {})
    await using agent = spawnAgent(server, ['http', '1'], { ADIT_AUTHTOKEN: body.token })
    await online(agent)
    await server.api.delete(`/credentials/${body.id}`)
    assert.equal(await agent.ends(), 4)
    assert.match(agent.errorOutput, /ERR_ADIT_107/)
  })
})

suite('an update', () => {
  /** An agent with such lines in its file. */
  async function agentWith(lines: string, version: string | undefined) {
    await using parts = new AsyncDisposableStack()
    const document = parts.use(
      await webService((_, response) =>
        version === undefined ? response.writeHead(500).end() : response.end(JSON.stringify({ version })),
      ),
    )
    const url = lines === '' ? '' : `update_url: http://127.0.0.1:${document.port}/\n`
    const config = parts.use(configFile(`${url}${lines}`))
    const agent = parts.use(spawnAgent(server, ['http', '1'], config.environment))
    await online(agent)
    parts.defer(async () => void (await agent.ends('SIGTERM')))
    const all = parts.move()
    return { agent, [Symbol.asyncDispose]: () => all.disposeAsync() }
  }

  const install = `update_command: ["${process.execPath}", "-e", "0"]\n`
  for (const [why, lines, version, reason] of [
    ['none is newer', install, '0.1.0', 'no update is available'],
    ['the newest one is older', install, '0.0.9', 'no update is available'],
    ['the newest one is another major version', install, '1.0.0', 'no update is available'],
    [
      'checks are disabled',
      `${install}update_check: false\n`,
      '0.2.0',
      'update checks are disabled in the configuration',
    ],
    ['there is no command', 'log: text\n', '0.2.0', 'updates are not configured (update_command)'],
    ['nothing is configured', '', undefined, 'updates are not configured (update_url)'],
    ['the document cannot be had', install, undefined, 'the newest version cannot be determined: status 500'],
    [
      'the version is more than one',
      install,
      '0.2.0; rm',
      'the newest version cannot be determined: the document has no plain version',
    ],
  ] as const) {
    test(`is refused when ${why}`, async () => {
      await using _ = await agentWith(lines, version)
      assert.deepEqual(await command('update'), { status: 400, msg: `The agent did not update: ${reason}.` })
    })
  }

  test('runs what the owner wrote down, once, and then waits for a restart', async () => {
    const folder = newFolder()
    const [written, go] = [join(folder, 'written'), join(folder, 'go')]
    // It leaves a mark and ends on request.
    const program = `
      const fs = require('fs'), [, mark, go, version] = process.argv;
      fs.writeFileSync(mark, version);
      setInterval(() => fs.existsSync(go) && process.exit(0), 20)`.replaceAll('\n', ' ')
    const words = [process.execPath, '-e', program, written, go, 'v{version}']
    await using made = await agentWith(`update_command: ${JSON.stringify(words)}\n`, '0.1.7')
    assert.equal((await command('update')).status, 204)
    assert.match((await command('update')).msg ?? '', /: an update is already running\.$/)
    writeFileSync(go, '')
    await made.agent.waitForOutput(/msg="version 0\.1\.7 was installed and waits for a restart"/)
    assert.equal(readFileSync(written, 'utf8'), 'v0.1.7')
    assert.match((await command('update')).msg ?? '', /: an update was installed and waits for a restart\.$/)
    rmSync(folder, { recursive: true })
  })

  test('that fails can be tried again', async () => {
    const words = [process.execPath, '-e', 'process.exit(3)']
    await using made = await agentWith(`update_command: ${JSON.stringify(words)}\n`, '0.1.7')
    assert.equal((await command('update')).status, 204)
    await made.agent.waitForOutput(
      /level=error msg="the update to 0\.1\.7 failed: \S+ ended with exit code 3"/,
    )
    assert.equal((await command('update')).status, 204)
  })

  test('is one that is newer within the major version', () => {
    for (const [from, to, expected] of [
      ['1.2.3', '1.2.4', true],
      ['1.2.3', '1.10.0', true],
      ['1.2.3', '1.2.3', false],
      ['1.2.3', '1.1.9', false],
      ['1.2.3', '2.0.0', false],
      ['1.2.3', '1.2.4-beta', false],
      ['1.2.3', 'v1.2.4', false],
    ] as const)
      assert.equal(isUpdate(from, to), expected, `${from} to ${to}`)
  })
})
