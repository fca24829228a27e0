import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { runOrThrow } from '../support/openssh.ts'
import { SshProcess, TestListener, Upstream } from './support.ts'
import { Folder } from '../support/folder.ts'

/** Makes a key pair in Dropbear's own format and returns the public line. */
async function newDropbearKey(folder: Folder, name: string, type: string): Promise<string> {
  await runOrThrow('dropbearkey', '-t', type, '-f', folder.file(name))
  const shown = await runOrThrow('dropbearkey', '-y', '-f', folder.file(name))
  return shown.split('\n').find(line => /^(ssh|ecdsa)-/.test(line)) ?? assert.fail(shown)
}

// Dropbear sends its first key exchange message before it has seen the server's algorithms.
suite('the Dropbear client', { timeout: 300_000 }, () => {
  let folder: Folder
  let listener: TestListener
  let upstream: Upstream
  before(async () => {
    folder = new Folder()
    listener = await TestListener.start()
    upstream = await Upstream.echo()
  })
  after(async () => {
    await listener[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const forwards = [
    { bind: '80', command: 'http', url: /^http:\/\/random-\d+\.gw\.test$/ },
    { bind: '20001', command: 'tcp', url: /^tcp:\/\/127\.0\.0\.1:20001$/ },
  ]
  for (const type of ['ed25519', 'ecdsa', 'rsa'])
    for (const { bind, command, url } of forwards)
      test(`opens -R ${bind} ${command} with an ${type} key`, async () => {
        const key = `${type}-${bind}`
        listener.gateway.register(await newDropbearKey(folder, key, type))
        const target = ['-p', String(listener.port), 'ann@127.0.0.1', command]
        const flags = ['-y', '-y', '-i', folder.file(key), '-R', `${bind}:127.0.0.1:${upstream.port}`]
        await using client = new SshProcess([...flags, ...target], 'dbclient')
        await client.waitForOutput(/-> -R/)
        assert.equal(await listener.gateway.ask(url, 'hello'), 'HELLO')
      })
})
