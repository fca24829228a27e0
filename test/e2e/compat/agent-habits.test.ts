import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { WatchedProcess } from '../../cli/agent-support.ts'
import { run } from '../../cli/run.ts'
import { freePort } from '../../support/free-ports.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { Home } from './wrappers/wrapper.ts'
import { until } from '../../support/until.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

const start = (
  home: Home,
  args: readonly string[],
  environment: Record<string, string> = {},
): WatchedProcess =>
  new WatchedProcess(spawn(home.program, args, { env: { ...home.environment, ...environment } }))

const tokenOf = () => ({ NGROK_AUTHTOKEN: server.authtoken })
const ready = /^t=\S+ lvl=info msg="starting web service" obj=web addr=(\d+\.\d+\.\d+\.\d+:\d+) /m

suite('a program called ngrok', () => {
  for (const args of [['--version'], ['-v'], ['version']])
    test(`prints its version for ${args.join(' ')}`, async () => {
      using home = new Home(server)
      const { stdout, stderr, code } = await run(home.program, args, { environment: home.environment })
      assert.deepEqual({ stdout, stderr, code }, { stdout: 'ngrok version 3.39.10\n', stderr: '', code: 0 })
    })

  test('writes the lines that wrappers wait for, in order and without stderr', async () => {
    using home = new Home(server)
    const args = ['start', '--none', '--log', 'stdout', '--config', home.config, '--region', 'us_cal_1']
    await using agent = start(home, args, tokenOf())
    await agent.waitForOutput(/msg="tunnel session started" obj=tunnels\.session\n/)
    const [web, session] = [
      agent.output.search(ready),
      agent.output.indexOf('msg="client session established" obj=csess'),
    ]
    assert.ok(web !== -1 && session > web, agent.output)
    assert.equal(agent.errorOutput, '')
    assert.doesNotMatch(agent.output, /lvl=(eror|crit)/)
    assert.equal(await agent.ends('SIGTERM'), 0)
  })

  test('writes JSON with sorted keys, whose first address is that of the local API', async () => {
    using home = new Home(server, 'version: "3"\nagent:\n  web_addr: 127.0.0.1:0\n  log_format: json\n')
    await using agent = start(home, ['start', '--none', '--log=stdout', `--config=${home.config}`], tokenOf())
    await agent.waitForOutput(/tunnel session started/)
    const lines = agent.output.trim().split('\n')
    const first = lines
      .map(line => JSON.parse(line) as { addr?: string })
      .find(({ addr }) => addr !== undefined)
    assert.match(first?.addr ?? '', /^127\.0\.0\.1:\d+$/)
    for (const line of lines) {
      const keys = Object.keys(JSON.parse(line) as object)
      assert.deepEqual(keys, keys.toSorted())
    }
  })

  test('writes nothing to a pipe without --log, and lists its tunnel', async () => {
    using home = new Home(server, 'version: 3\nagent: {web_addr: "127.0.0.1:0"}\n')
    const port = await freePort()
    writeFileSync(home.config, `{region: us, version: '2', web_addr: "127.0.0.1:${port}"}`)
    await using agent = start(home, ['http', '3000', '-config', home.config], tokenOf())
    const list = await listed(port)
    assert.match(
      list,
      /^\{"tunnels":\[\{"name":"command_line","ID":"[^"]+","uri":"\/api\/tunnels\/command_line","public_url":"https:/,
    )
    assert.deepEqual([agent.output, agent.errorOutput], ['', ''])
    assert.equal(await agent.ends('SIGTERM'), 0)
  })

  test('names each tunnel in a line that ends with its address', async () => {
    using home = new Home(
      server,
      'version: "2"\nweb_addr: 127.0.0.1:0\ntunnels:\n  bot: {proto: http, addr: 3978, schemes: [https]}\n',
    )
    const args = ['start', 'bot', `--config=${home.config}`, '--log=stdout', '--log-format=logfmt']
    await using agent = start(home, args, tokenOf())
    const [, addr, url] = await agent.waitForOutput(/obj=tunnels name=bot addr=(\S+) url=(\S+)\n/)
    assert.equal(addr, 'http://localhost:3978')
    assert.match(url ?? '', /^https:\/\//)
  })

  test('names tunnels that the local API starts', async () => {
    using home = new Home(server)
    const args = ['start', '--none', '--log=stdout', `--config=${home.config}`]
    await using agent = start(home, args, tokenOf())
    const [, address = ''] = await agent.waitForOutput(ready)
    await agent.waitForOutput(/tunnel session started/)
    const response = await fetch(`http://${address}/api/tunnels`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'made', proto: 'tcp', addr: '22' }),
    })
    assert.equal(response.status, 201)
    await agent.waitForOutput(/msg="started tunnel" obj=tunnels name=made addr=localhost:22 url=tcp:\S+\n/)
  })

  test('marks the lines of an error, with its code alone', async () => {
    using home = new Home(server)
    const args = ['http', '80', '--hostname', 'a.example.org', '--config', home.config]
    const { code, stdout, stderr } = await run(home.program, args, {
      environment: { ...home.environment, ...tokenOf() },
    })
    assert.notEqual(code, 0)
    assert.equal(stdout, '')
    assert.match(stderr, /^ERROR: {2}\S.*\n(ERROR:.*\n)*ERROR:\nERROR: {2}ERR_NGROK_90054\n$/)
  })

  test('logs why it ends', async () => {
    using home = new Home(server)
    const args = [
      'start',
      '--none',
      '--log=stdout',
      `--config=${home.config}`,
      `--authtoken=${'x'.repeat(49)}`,
    ]
    await using agent = start(home, args)
    await agent.waitForOutput(
      /lvl=crit msg="command failed" err="authentication failed: .*\\r\\n\\r\\nERR_NGROK_10[57]\\r\\n"\n/,
    )
    assert.notEqual(await agent.ends(), 0)
  })

  test('logs that the address of the local API is taken, and ends', async () => {
    await using other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    using home = new Home(server, `version: "2"\nweb_addr: 127.0.0.1:${port}\n`)
    await using agent = start(home, ['start', '--none', '--log=stdout', `--config=${home.config}`], tokenOf())
    await agent.waitForOutput(
      new RegExp(`lvl=crit msg="command failed" err=".*${port}: bind: address already in use`),
    )
    assert.notEqual(await agent.ends(), 0)
  })

  test('saves the authtoken in its usual file, and prints where', async () => {
    using home = new Home(server)
    const path = join(home.folder, '.config/ngrok/ngrok.yml')
    for (const args of [
      ['authtoken', 'first'],
      ['config', 'add-authtoken', 'second', '--log', 'stdout'],
    ]) {
      const { stdout, stderr, code } = await run(home.program, args, { environment: home.environment })
      assert.deepEqual(
        { stdout, stderr, code },
        { stdout: `Authtoken saved to configuration file: ${path}\n`, stderr: '', code: 0 },
      )
    }
    assert.match(readFileSync(path, 'utf8'), /authtoken: second\n/)
  })

  for (const text of ["version: '3'\n", '', '{}', '{region: us, version: "2"}', "version: '2'\nregion: us\n"])
    test(`takes the generated file ${JSON.stringify(text)}`, async () => {
      using home = new Home(server, text)
      await using agent = start(home, ['start', '--none', '--log=stdout', '--config', home.config], tokenOf())
      await agent.waitForOutput(/tunnel session started/)
    })

  test('takes a device as its file, and does without HOME', async () => {
    using home = new Home(server)
    const { HOME: _, ...environment } = home.environment
    await using agent = new WatchedProcess(
      spawn(home.program, ['start', '--none', '-log=stdout', '-config', '/dev/null'], {
        env: { ...environment, ...tokenOf() },
      }),
    )
    await agent.waitForOutput(/tunnel session started/)
  })
})

/** What scripts do: ask until something answers. On a busy machine the first list can be empty. */
const listed = (port: number): Promise<string> =>
  until(
    () =>
      fetch(`http://127.0.0.1:${port}/api/tunnels`).then(
        answer => answer.text(),
        () => '',
      ),
    { fits: list => list.includes('public_url') },
  )
