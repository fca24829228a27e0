import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { ticket, visit } from '../gateway/listeners/support.ts'
import { NAME, VERSIONS } from '../tls/support.ts'
import { runOrThrow } from '../support/openssh.ts'
import { spawnServer, type Process } from '../support/server.ts'
import { newFolder } from '../support/folder.ts'

type Version = (typeof VERSIONS)[number]

/** The identity of a server as clients, agents and ssh clients know it, to compare with the next one. */
interface Remembered {
  readonly hostKeys: string
  readonly root: string
  readonly sessions: ReadonlyMap<Version, Buffer>
}

const portOf = ({ bound }: Process, name: 'https' | 'agent' | 'ssh'): number =>
  bound[name]?.port ?? assert.fail(`no listener for ${name}`)

/** The host keys as a line of known_hosts has them, without the address, of which the port is another each time. */
async function hostKeys(server: Process): Promise<string> {
  const found = await runOrThrow('ssh-keyscan', '-p', String(portOf(server, 'ssh')), '127.0.0.1')
  return found.replaceAll(/^\S+ /gm, '')
}

async function remember(server: Process, folder: string): Promise<Remembered> {
  const root = readFileSync(join(folder, 'ca.pem'), 'utf8')
  const sessions = new Map<Version, Buffer>()
  for (const maxVersion of VERSIONS)
    sessions.set(
      maxVersion,
      await ticket(portOf(server, 'https'), { servername: NAME, ca: root, maxVersion }),
    )
  return { hostKeys: await hostKeys(server), root, sessions }
}

/** The result of a connection by an agent that trusts only this root: its state, or the error. */
async function agentMeets(server: Process, root: string): Promise<string | undefined> {
  try {
    const socket = await visit(portOf(server, 'agent'), { servername: 'adit.localhost', ca: root })
    socket.destroy()
    return 'trusted'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

async function resumes(server: Process, maxVersion: Version, session: Buffer | undefined): Promise<boolean> {
  const options = { servername: NAME, maxVersion, session: session ?? assert.fail('no session') }
  // Without verifying the server: only the acceptance of the ticket matters.
  const client = await visit(portOf(server, 'https'), { ...options, rejectUnauthorized: false })
  const reused = client.isSessionReused()
  await once(client.end().resume(), 'close')
  return reused
}

suite('adit serve, started again', () => {
  const folder = newFolder()
  let server: Process
  let seen: Remembered

  before(async () => {
    server = await spawnServer(folder)
    seen = await remember(server, folder)
  })
  after(async () => {
    await server.end('SIGTERM')
    rmSync(folder, { recursive: true })
  })

  const restarts = [
    { signal: 'SIGTERM', workers: '1' },
    { signal: 'SIGKILL', workers: '1' },
    { signal: 'SIGTERM', workers: '2' },
  ] as const
  for (const { signal, workers } of restarts)
    test(`after ${signal}, with ADIT_WORKERS=${workers}, has the same identity for clients, agents and ssh clients`, async () => {
      await server.end(signal)
      server = await spawnServer(folder, { ADIT_WORKERS: workers })
      assert.match(seen.hostKeys, /^ssh-ed25519 \S+\n$/)
      assert.equal(await hostKeys(server), seen.hostKeys)
      assert.equal(readFileSync(join(folder, 'ca.pem'), 'utf8'), seen.root)
      assert.equal(await agentMeets(server, seen.root), 'trusted')
      for (const [version, session] of seen.sessions)
        assert.equal(await resumes(server, version, session), true, version)
    })

  test('writes the root again when its file was lost', async () => {
    await server.end('SIGTERM')
    rmSync(join(folder, 'ca.pem'))
    server = await spawnServer(folder)
    assert.equal(readFileSync(join(folder, 'ca.pem'), 'utf8'), seen.root)
  })

  test('on another data folder has another identity', async context => {
    const elsewhere = newFolder()
    const other = await spawnServer(elsewhere)
    context.after(async () => {
      await other.end('SIGTERM')
      rmSync(elsewhere, { recursive: true })
    })
    assert.notEqual(await hostKeys(other), seen.hostKeys)
    assert.match(String(await agentMeets(other, seen.root)), /SIGNATURE|ISSUER|SELF_SIGNED/)
    for (const [version, session] of seen.sessions)
      assert.equal(await resumes(other, version, session), false, version)
  })
})
