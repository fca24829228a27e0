import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { writtenLine } from '#cli/agent/log-lines.ts'
import { agentOnTerminal, environmentOf, spawnAgent, visit, webService } from './agent-support.ts'
import { program } from '../support/program.ts'
import { runAdit, startServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

/** The agent has a tunnel of this name. */
const isOnline = (name: string, child: ChildProcess) =>
  until(
    async () => {
      assert.equal(child.exitCode, null)
      return (await server.api.get('/tunnels')).body
    },
    { fits: body => JSON.stringify(body).includes(name) },
  )

suite('a line of the log', () => {
  const time = new Date('2030-01-31T12:00:00.123Z')

  test('quotes in logfmt what a shell would split or what could be confused', () => {
    const fields = {
      plain: 'a-b:1/2',
      space: 'a b',
      apostrophe: "it's",
      equal: 'a=b',
      lines: 'a\r\nb\u001b',
      n: 1,
    }
    const line = writtenLine({ time, level: 'eror', msg: 'two words', fields }, 'logfmt')
    assert.match(line, /^t=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} lvl=eror msg="two words" /)
    assert.ok(
      line.endsWith(
        String.raw` plain=a-b:1/2 space="a b" apostrophe="it's" equal="a=b" lines="a\r\nb\u001b" n=1` + '\n',
      ),
    )
  })

  test('has sorted keys and no spaces as JSON', () => {
    const fields = { url: 'https://a', name: 'command_line', obj: 'tunnels', addr: 'http://localhost:80' }
    const line = writtenLine({ time, level: 'info', msg: 'started tunnel', fields }, 'json')
    const expected =
      '{"addr":"http://localhost:80","lvl":"info","msg":"started tunnel","name":"command_line",' +
      '"obj":"tunnels","t":"2030-01-31T12:00:00.123Z","url":"https://a"}\n'
    assert.equal(line, expected)
  })
})

suite('--log', () => {
  test('stdout logs the session and each tunnel in logfmt', async () => {
    await using service = await webService((_, response) => response.end('hello'))
    await using agent = spawnAgent(server, ['http', service.port, '--log=stdout', '--name', 'logged'])
    const [, url = ''] = await agent.waitForOutput(
      /msg="started tunnel" obj=tunnels name="command_line \(http\)" addr=http:\/\/localhost:\d+ url=(\S+)\n/,
    )
    assert.match(agent.output, /lvl=info msg="client session established" obj=csess id=[0-9a-f]{12}\n/)
    assert.match(agent.output, /lvl=info msg="tunnel session started" obj=tunnels\.session\n/)
    assert.match(agent.output, / name=command_line addr=\S+ url=https:\/\/logged\.\S+\n/)
    assert.equal((await visit(url)).body, 'hello')
    await agent.waitForOutput(/msg="join connections" obj=join l=http:\/\/localhost:\d+ r=127\.0\.0\.1:\d+\n/)
    assert.equal(agent.errorOutput, '')
    assert.equal(await agent.ends('SIGTERM'), 0)
  })

  test('stdout with --log-format json gives objects', async () => {
    await using agent = spawnAgent(server, ['http', '1', '-log=stdout', '-log-format=json'])
    await agent.waitForOutput(/"msg":"started tunnel","name":"command_line","obj":"tunnels"/)
    for (const line of agent.output.trim().split('\n')) assert.equal(typeof JSON.parse(line).lvl, 'string')
  })

  test('stdout logs why it ends, in lines and on standard error', async () => {
    await using agent = spawnAgent(server, ['http', '1', '--log', 'stdout'], {
      ADIT_AUTHTOKEN: 'x'.repeat(49),
    })
    assert.equal(await agent.ends(), 4)
    assert.match(
      agent.output,
      /lvl=crit msg="command failed" err="authentication failed: .*\\r\\n\\r\\nERR_NGROK_107\\r\\n"\n$/,
    )
    assert.match(agent.errorOutput, /^adit: The authtoken /)
  })

  test('names an error of an agent that is not online yet a warning', async () => {
    const environment = { ADIT_SERVER_ADDR: '127.0.0.1:1', ADIT_AUTHTOKEN: 'x' }
    await using agent = spawnAgent(server, ['http', '1', '--log=stdout'], environment)
    await agent.waitForOutput(
      /lvl=warn msg="failed to connect session" obj=csess id=\w+ err="[^"]+" retry_in_ms=\d+\n/,
    )
    assert.doesNotMatch(agent.output, /lvl=eror/)
  })

  test('stderr leaves stdout empty, false leaves both empty', async () => {
    await using agent = spawnAgent(server, ['http', '1', '--log=stderr'])
    await until(() => agent.errorOutput.includes('client session established'))
    assert.equal(await agent.ends('SIGTERM'), 0)
    assert.match(agent.errorOutput, /^t=\S+ lvl=info msg="client session established"/m)
    assert.equal(agent.output, '')
    await using silent = spawnAgent(server, ['http', '1', '--log', 'false', '--name', 'silent'])
    await isOnline('silent', silent.child)
    assert.equal(await silent.ends('SIGTERM'), 0)
    assert.deepEqual([silent.output, silent.errorOutput], ['', ''])
  })

  test('with a file writes there, for its owner only, beside the view', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'adit-test-'))
    const path = join(folder, 'agent.log')
    await using agent = agentOnTerminal(server, ['http', '1', '--log', path])
    await agent.waitForOutput(/State .*online/)
    await agent.waitForOutput(/https:\/\//)
    assert.match(readFileSync(path, 'utf8'), /msg="started tunnel"/)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    rmSync(folder, { recursive: true })
  })

  test('with a file that cannot be written ends with 78 and shows what to do', async () => {
    const { code, stderr } = await runAdit(
      ['http', '1', '--log', '/nonexistent/a.log'],
      environmentOf(server),
    )
    assert.equal(code, 78)
    assert.equal(
      stderr,
      'adit: the log file /nonexistent/a.log cannot be opened: ENOENT. Choose another with --log, or use --log stdout.\n',
    )
  })

  test('does not stop tunnels when its reader does not read', async () => {
    await using service = await webService((_, response) => response.end('hello'))
    const args = ['http', service.port, '--log=stdout', '--scheme=http', '--name', 'unread']
    // A pipe holds 64 KiB; nothing reads it.
    const child = spawn('/bin/sh', ['-c', '"$@" | sleep infinity', 'sh', program, ...args], {
      env: { ...process.env, ...environmentOf(server) },
      stdio: 'ignore',
      detached: true,
    })
    try {
      const host = `http://unread.adit.localhost:${server.bound.http?.port ?? 0}/`
      await isOnline('unread', child)
      const long = `/${'x'.repeat(900)}`
      for (let at = 0; at < 600; at++) assert.equal((await visit(`${host}${long}`)).status, 200)
    } finally {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }
  })
})
