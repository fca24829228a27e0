import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import type { Socket } from 'node:net'
import { suite, test } from 'node:test'
import { isLongRun, reportFigures } from './measurements.ts'
import { ShortRequests } from './short-requests.ts'
import { HOST, World } from './world.ts'
import { until } from '../../support/until.ts'

const IDLE = isLongRun ? 10_000 : 500
const PER_ADDRESS = 256
const NETWORK = '10.213.77'
const MOST_KIB = 60

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8', stdio: 'pipe' })

/** Addresses of this machine that are not loopback, because loopback is not held to its share. */
class Addresses implements Disposable {
  readonly all: readonly string[]

  constructor(count: number) {
    this.all = Array.from({ length: count }, (_, at) => `${NETWORK}.${at + 1}`)
    for (const address of this.all) ip('address', 'add', `${address}/32`, 'dev', 'lo')
  }

  [Symbol.dispose](): void {
    for (const address of this.all) ip('address', 'del', `${address}/32`, 'dev', 'lo')
  }

  static get possible(): boolean {
    try {
      new Addresses(1)[Symbol.dispose]()
      return true
    } catch {
      return false
    }
  }
}

/** A connection that idles after one request, as those of browsers do. */
async function idle(world: World, localAddress?: string): Promise<Socket> {
  const socket = await world.connect('https', { ...(localAddress && { localAddress }) })
  if (socket.closed) throw new Error('an idle connection was not taken')
  socket.resume()
  return socket
}

suite('idle connections', { timeout: 300_000 }, () => {
  test(`over TLS cost ${MOST_KIB} KiB each at most, and other clients are unaffected`, async context => {
    await using world = await World.start()
    await using shorts = new ShortRequests(world)
    // What the first ones take is code and pools.
    const warm = await Promise.all(Array.from({ length: 50 }, () => idle(world)))
    const before = world.memory
    const sockets: Socket[] = []
    for (let at = 0; at < IDLE; at += 50) {
      const more = await Promise.all(Array.from({ length: 50 }, () => idle(world)))
      // Without a request a new connection would be closed after ten seconds.
      for (const socket of more) socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
      sockets.push(...more)
    }
    shorts.start(50)
    await until(() => shorts.answered > 50)
    const each = (world.memory - before) / IDLE
    await shorts.stop()
    const open = sockets.filter(({ closed }) => !closed).length
    reportFigures(context, {
      connections: IDLE,
      'still open': open,
      'KiB each': each,
      'honest p99 ms': shorts.p99,
    })
    for (const socket of [...warm, ...sockets]) socket.destroy()
    assert.equal(open, IDLE)
    assert.deepEqual(shorts.failures, [])
    // With few connections what the process needs anyway is a large part of the figure.
    assert.ok(each < (isLongRun ? MOST_KIB : 4 * MOST_KIB), `${each} KiB each`)
  })

  test(
    'of one address are refused beyond its share, and others are served',
    { skip: !Addresses.possible },
    async context => {
      using addresses = new Addresses(3)
      const [server = '', greedy, modest] = addresses.all
      await using world = await World.start({
        address: server,
        environment: { ADIT_HTTP_ADDR: `${server}:0`, ADIT_HTTPS_ADDR: `${server}:0` },
      })
      const open = (localAddress: string | undefined): Promise<Socket> =>
        world.connect('http', { ...(localAddress && { localAddress }) })
      const taken = await Promise.all(Array.from({ length: PER_ADDRESS }, () => open(greedy)))
      const refused = await open(greedy)
      const [words] = await new Promise<[string]>(resolve => {
        refused.once('data', (bytes: Buffer) => resolve([bytes.toString('latin1')]))
        refused.once('close', () => resolve(['']))
      })
      const other = await open(modest)
      const answer = new Promise<string>(resolve =>
        other.once('data', (bytes: Buffer) => resolve(bytes.toString('latin1'))),
      )
      other.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
      assert.match(await answer, /^HTTP\/1\.1 200 /)
      reportFigures(context, {
        taken: taken.filter(({ closed }) => !closed).length,
        'one more gets': words.slice(0, 12),
      })
      assert.equal(taken.filter(({ closed }) => !closed).length, PER_ADDRESS)
      assert.match(words, /^HTTP\/1\.1 503 /)
      for (const socket of [...taken, refused, other]) socket.destroy()
    },
  )
})
