import assert from 'node:assert/strict'
import { after, afterEach, before, suite, test } from 'node:test'
import { newSshKey } from '../support/openssh.ts'
import { type SshCall, ssh, TestListener, Upstream } from './support.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

let folder: Folder
let listener: TestListener
let upstream: Upstream
let credentialId: string

before(async () => {
  folder = new Folder()
  listener = await TestListener.start()
  upstream = await Upstream.echo()
  credentialId = listener.gateway.register(await newSshKey(folder, 'id', 'ed25519'))
})

// The gateway sees the end of an ssh process a moment later.
afterEach(async () => {
  await until(() => listener.gateway.sessions.size === 0)
})

after(async () => {
  await listener[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const call = (changes: Partial<SshCall> = {}) =>
  ssh({ port: listener.port, key: folder.file('id'), ...changes })
const forward = (bind: string): string[] => ['-R', `${bind}:127.0.0.1:${upstream.port}`]

suite('ssh -R', () => {
  const endpoints = [
    { flags: '80', command: ['http'], url: /^http:\/\/random-\d+\.gw\.test$/ },
    { flags: '443', command: [], url: /^https:\/\/random-\d+\.gw\.test$/ },
    { flags: '443', command: ['http'], url: /^https:\/\/random-\d+\.gw\.test$/ },
    { flags: '80', command: ['https'], url: /^https:\/\/random-\d+\.gw\.test$/ },
    { flags: '443', command: ['tls', '--name', 'mail'], url: /^tls:\/\/mail\.gw\.test$/ },
    { flags: 'shop:80', command: ['http'], url: /^http:\/\/shop\.gw\.test$/ },
    { flags: 'www.example.com:80', command: ['http'], url: /^http:\/\/www\.example\.com$/ },
    { flags: '20001', command: ['tcp'], url: /^tcp:\/\/127\.0\.0\.1:20001$/ },
    { flags: '20002', command: [], url: /^tcp:\/\/127\.0\.0\.1:20002$/ },
    { flags: '0', command: ['tcp'], url: /^tcp:\/\/127\.0\.0\.1:205\d\d$/ },
    { flags: '*:0', command: ['http', '--domain=x.example.org'], url: /^http:\/\/x\.example\.org$/ },
  ]
  for (const { flags, command, url } of endpoints)
    test(`${flags} ${command.join(' ')} opens ${url.source}`, async () => {
      await using client = call({ flags: forward(flags), command })
      await client.waitForOutput(/-> -R \S+\n/)
      assert.match(
        client.stdout,
        /^Adit, session ts_\w+\. Press q or Ctrl-C to stop\.\n\S+:\/\/\S+ -> -R \S+\n$/,
      )
      assert.equal(await listener.gateway.ask(url, 'hello'), 'HELLO')
      await client.waitForOutput(/connection from 203\.0\.113\.7:40001\n.*closed for/s)
      client.child.kill('SIGTERM')
      await client.ended
      assert.equal(client.stderr, '')
    })

  test('shows the session its owner', async () => {
    await using client = call({ flags: forward('80'), command: ['http', '--metadata', "'two words'"] })
    await client.waitForOutput(/-> -R 80/)
    const { record } = listener.gateway.onlySession()
    assert.match(record.agentVersion, /^OpenSSH_/)
    assert.equal(record.userAgent, record.agentVersion)
    assert.deepEqual(
      { ...record, id: '', agentVersion: '', userAgent: '', startedAt: '' },
      {
        id: '',
        node: 'node-1',
        credentialId,
        agentVersion: '',
        userAgent: '',
        ip: '127.0.0.1',
        localIp: '127.0.0.1',
        serverName: undefined,
        metadata: '',
        os: '',
        arch: '',
        region: 'here',
        startedAt: '',
        transport: 'ssh',
      },
    )
    assert.equal(listener.gateway.requests()[0]?.metadata, 'two words')
  })

  test('with -N opens the endpoint that the port selects', async () => {
    await using client = call({ flags: [...forward('named:80'), '-N', '-v'], options: ['LogLevel=DEBUG1'] })
    await client.waitForOutput(/remote forward success/, 'stderr')
    assert.equal(await listener.gateway.ask(/^http:\/\/named\.gw\.test$/, 'x'), 'X')
    assert.equal(client.stdout, '')
  })

  test('sends ssh the port that was allocated', async () => {
    await using client = call({ flags: [...forward('0'), '-N'], options: ['LogLevel=INFO'] })
    await client.waitForOutput(/Allocated port (\d+) for remote forward/, 'stderr')
    const [, port] = /Allocated port (\d+)/.exec(client.stderr) ?? []
    assert.equal(await listener.gateway.ask(new RegExp(`^tcp:.*:${port}$`), 'x'), 'X')
  })

  test('several times opens several tunnels, each to its own service', async () => {
    await using other = await Upstream.start(socket => socket.end('other'))
    const toOther = `127.0.0.1:${other.port}`
    const flags = [...forward('a:80'), ...forward('443'), '-R', `b:80:${toOther}`]
    const random = [...forward('0'), '-R', `0:${toOther}`]
    await using client = call({ flags: [...flags, ...random], command: ['http'] })
    await client.waitForOutput(/(-> -R [^]*){5}/)
    assert.equal(listener.gateway.tunnels.size, 5)
    assert.equal(listener.gateway.sessions.size, 1)
    assert.equal(await listener.gateway.ask(/^http:\/\/a\.gw\.test$/, 'x'), 'X')
    assert.equal(await listener.gateway.ask(/^http:\/\/b\.gw\.test$/, 'x'), 'other')
    assert.equal(await listener.gateway.ask(/^https:/, 'y'), 'Y')
    const urls = [...listener.gateway.tunnels.values()].map(({ record }) => record.url)
    const [first, second] = urls.filter(url => url.startsWith('http://random'))
    assert.equal(await listener.gateway.ask(new RegExp(`^${first}$`), 'y'), 'Y')
    assert.equal(await listener.gateway.ask(new RegExp(`^${second}$`), 'y'), 'other')
  })

  test('takes its options', async () => {
    const command = ['http', '--name', 'opts', '--basic-auth', 'ann:se:cret', '--basic-auth=bob:pw']
    await using client = call({ flags: forward('80'), command })
    await client.waitForOutput(/-> -R 80/)
    assert.deepEqual(listener.gateway.requests()[0]?.basicAuth, [
      { username: 'ann', password: 'se:cret' },
      { username: 'bob', password: 'pw' },
    ])
  })

  test('with labels opens a tunnel for a group', async () => {
    await using client = call({
      flags: forward('80'),
      command: ['http', '--label', 'app=web', '--label=env=test'],
    })
    await client.waitForOutput(/app=web,env=test -> -R 80/)
    assert.deepEqual(listener.gateway.requests()[0]?.labels, { app: 'web', env: 'test' })
  })

  test('ends with a message and status 1 when the address is taken', async () => {
    await using first = call({ flags: forward('taken:80'), command: ['http'] })
    await first.waitForOutput(/-> -R/)
    await using second = call({
      flags: forward('taken:80'),
      command: ['http'],
      options: ['ExitOnForwardFailure=no'],
    })
    assert.equal(await second.ended, 1)
    assert.match(second.stderr, /^The endpoint http:\/\/taken\.gw\.test is already online/)
    await using strict = call({
      flags: forward('taken:80'),
      command: ['http'],
      options: ['ExitOnForwardFailure=yes'],
    })
    assert.equal(await strict.ended, 255)
    assert.match(strict.stderr, /is already online[^]*remote port forwarding failed/)
  })

  const mistakes: Record<string, [string[], RegExp]> = {
    'another command': [['ls', '-l'], /must start with http, https, tcp or tls/],
    'an unknown option': [['http', '--color', 'red'], /the options are --name/],
    'an option without a value': [['http', '--name'], /--name needs a value/],
    'a bad password': [['http', '--basic-auth', 'ann'], /user:password/],
    'a password for tcp': [['tcp', '--basic-auth', 'a:b'], /--basic-auth needs http/],
    'an open quote': [['http', '--metadata', "'x"], /quotation mark is not closed/],
    'a name that is too long': [['http', '--name', 'x'.repeat(64)], /at most 63 bytes/],
    'too many words': [['http', ...Array<string>(70).fill('x')], /more than 64 words/],
    'a command that is too long': [['http', '--metadata', 'x'.repeat(9000)], /longer than 8192 bytes/],
  }
  for (const [name, [command, sentence]] of Object.entries(mistakes))
    test(`ends with a message and status 1 for ${name}`, async () => {
      await using client = call({ flags: forward('80'), command })
      assert.equal(await client.ended, 1)
      assert.match(client.stderr, sentence)
      assert.equal(listener.gateway.tunnels.size, 0)
    })

  test('without a tunnel shows how to ask for one', async () => {
    await using client = call()
    assert.equal(await client.ended, 0)
    assert.match(client.stdout, /ssh -R 80:localhost:8080 GATEWAY http/)
    assert.equal(listener.gateway.sessions.size, 0)
  })

  test('in a terminal ends its lines in CR LF, and q ends it', async () => {
    await using client = call({ flags: [...forward('80'), '-tt'], command: ['http'] })
    await client.waitForOutput(/-> -R 80\r\n/)
    assert.doesNotMatch(client.stdout, /[^\r]\n/)
    client.child.stdin?.write('q')
    assert.equal(await client.ended, 0)
  })

  test('in a terminal ends by Ctrl-C', async () => {
    await using client = call({ flags: [...forward('80'), '-tt'], command: ['http'] })
    await client.waitForOutput(/-> -R 80/)
    client.child.stdin?.write('\x03')
    assert.equal(await client.ended, 0)
  })

  test('stays when its input ends', async () => {
    await using client = call({ flags: forward('stays:80'), command: ['http'] })
    client.child.stdin?.end()
    await client.waitForOutput(/-> -R/)
    assert.equal(await listener.gateway.ask(/stays/, 'still'), 'STILL')
  })

  test('is gone from the gateway when it ends', async () => {
    await using client = call({ flags: forward('80'), command: ['http'] })
    await client.waitForOutput(/-> -R/)
    client.child.kill('SIGKILL')
    await client.ended
    await until(() => listener.gateway.sessions.size === 0)
    assert.equal(listener.gateway.tunnels.size, 0)
  })

  test('can be stopped, but neither restarted nor updated', async () => {
    await using client = call({ flags: forward('80'), command: ['http'] })
    await client.waitForOutput(/-> -R/)
    const { connection } = listener.gateway.onlySession()
    await assert.rejects(connection.command('restart'), { code: 'ssh_no_restart' })
    await assert.rejects(connection.command('update'), { code: 'ssh_no_update' })
    await connection.command('stop')
    assert.equal(await client.ended, 1)
    assert.match(client.stderr, /stopped through the API/)
  })

  test('answers a probe, until it is stopped by its terminal', async () => {
    await using client = call({ flags: forward('80'), command: ['http'] })
    await client.waitForOutput(/-> -R/)
    const { connection } = listener.gateway.onlySession()
    assert.equal(await connection.probe(), true)
    client.child.kill('SIGKILL')
    await client.ended
    assert.equal(await connection.probe(), false)
  })

  test('forwards to a service that is down by ending the connection without a byte', async () => {
    await using client = call({ flags: ['-R', 'down:80:127.0.0.1:1'], command: ['http'] })
    await client.waitForOutput(/-> -R/)
    assert.equal(await listener.gateway.ask(/down/, 'hello'), '')
  })

  test('prints lines of clients without control characters', async () => {
    await using client = call({ flags: forward('80'), command: ['http'] })
    await client.waitForOutput(/-> -R/)
    const { record } = listener.gateway.onlySession()
    listener.listener.onRequest(record.id, 'GET /\u001b[2J\u0007 200 1 ms')
    await client.waitForOutput(/GET \/\\u\{1b\}\[2J\\u\{7\} 200 1 ms\n/)
  })
})
