import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { BackendParts } from '#gateway/backends/backend.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { TunnelIndex } from '#registry/tunnel-index.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { startGateway, TestAgent, type Gateway } from '../agents/support.ts'
import { build, HttpFront, records, exchangeBytes } from './support.ts'
import { until } from '../../support/until.ts'

const labels = { app: 'shop' }
const DIAL_FAILURE = 'failed to dial backend: connection refused'

/** What an agent does with a connection. */
type Manner = (stream: TunnelStream, name: string) => void

const answering =
  (status: string, text: (name: string) => string): Manner =>
  (stream, name) => {
    const body = text(name)
    stream.attach({
      data: () =>
        void stream.write(Buffer.from(`HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)),
      end: () => stream.end(),
      closed: () => undefined,
    })
  }

const well = answering('200 OK', name => name)
/** Its service is unreachable, and it reports that. */
const unreachable = answering('502 Bad Gateway', () => DIAL_FAILURE)
/** Its service reads and closes. */
const silent: Manner = stream =>
  stream.attach({ data: () => stream.end(), end: () => stream.end(), closed: () => undefined })

/** A group of tunnels behind real agents. */
class Group implements AsyncDisposable {
  readonly gateway: Gateway
  readonly index: TunnelIndex
  readonly agents = new Map<string, TestAgent>()
  /** Tunnels whose agents cannot be dialled, by their ids. */
  readonly down = new Set<string>()
  /** Which tunnels were to be dialled. */
  readonly dialled: string[] = []
  readonly manners = new Map<string, Manner>()
  readonly #fronts: HttpFront[] = []

  constructor(gateway: Gateway) {
    this.gateway = gateway
    this.index = new TunnelIndex(gateway.directory, gateway.info.node)
  }

  static async of(manners: Readonly<Record<string, Manner>>): Promise<Group> {
    const group = new Group(await startGateway())
    for (const [name, manner] of Object.entries(manners)) await group.join(name, manner)
    return group
  }

  async join(name: string, manner: Manner): Promise<string> {
    const { gateway } = this
    const agent = await TestAgent.signIn(gateway, gateway.source.credential().token)
    this.manners.set(name, manner)
    agent.onProxied = stream => this.manners.get(name)?.(stream, name)
    this.agents.set(name, agent)
    const { Id } = await agent.label(labels)
    return Id
  }

  /** The number of connections opened at each agent. */
  asked(name: string): number {
    return this.agents.get(name)?.proxied.length ?? 0
  }

  parts(edge: BackendParts['edge'] = 'https'): Partial<BackendParts> {
    const { sessions: registry } = this.gateway
    const dialer: AgentDialer = {
      command: (id, command) => registry.command(id, command),
      probe: id => registry.probe(id),
      roundTrip: id => registry.roundTrip(id),
      dial: async (tunnel, header, first) => {
        this.dialled.push(tunnel.id)
        if (this.down.has(tunnel.id)) throw new DialError('offline', 'The agent is no longer connected.')
        return registry.dial(tunnel, header, first)
      },
    }
    return { edge, index: this.index, dialer }
  }

  front(ofGroup: Readonly<Record<string, string>> = labels): HttpFront {
    const front = new HttpFront(build({ group: records.group(ofGroup) }, this.parts()))
    this.#fronts.push(front)
    return front
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const front of this.#fronts) await front[Symbol.asyncDispose]()
    for (const agent of this.agents.values()) agent.drop()
    this.index.close()
    await this.gateway[Symbol.asyncDispose]()
  }
}

/** The name of the service that responded to each of so many requests, or the status if none did. */
async function answers(front: HttpFront, count: number): Promise<string> {
  let order = ''
  for (let at = 0; at < count; at++) {
    const { status, body } = await front.get()
    order += status === 200 ? body : `[${status}]`
  }
  return order
}

suite('a group of tunnels', () => {
  test('shares requests among all that are online', async () => {
    await using group = await Group.of({ a: well, b: well, c: well })
    const order = await answers(group.front(), 9)
    for (const name of ['a', 'b', 'c']) assert.equal(order.split(name).length, 4, order)
    assert.equal(group.agents.get('a')?.proxied[0]?.header.EdgeType, '3')
  })

  test('logs which tunnel was used', async () => {
    await using group = await Group.of({ a: well })
    const front = group.front()
    await front.get()
    assert.deepEqual([front.traces[0]?.tunnel], group.index.ofGroup({ labels, ownerId: '' }))
    assert.equal(front.traces[0]?.backendId, 'group')
  })

  test('without an online tunnel answers 503', async () => {
    await using group = await Group.of({})
    const front = group.front()
    const { status, head } = await front.get()
    assert.equal(status, 503)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_90042/)
    assert.deepEqual(front.lost, ['not-sent'])
  })

  test('without an online tunnel shows the command with its labels, if they need no shell quoting', async () => {
    await using group = await Group.of({})
    const page = async (ofGroup: Record<string, string>) => (await group.front(ofGroup).get()).body
    assert.match(
      await page({ app: 'shop', zone: 'eu-1' }),
      /^ {2}adit tunnel --label app=shop --label zone=eu-1 3000$/m,
    )
    for (const value of ['$(reboot)', 'a b', ';reboot', '<b>', ''])
      assert.match(await page({ app: value }), /^ {2}adit tunnel --label name=value 3000$/m)
  })

  test('follows tunnels that go online and offline', async () => {
    await using group = await Group.of({ a: well })
    const front = group.front()
    assert.equal(await answers(front, 2), 'aa')
    await group.join('b', well)
    assert.match(await answers(front, 4), /^(ab|ba)+$/)
    group.agents.get('a')?.drop()
    await until(() => group.index.ofGroup({ labels, ownerId: '' }).length === 1, { what: 'a has left' })
    assert.equal(await answers(front, 3), 'bbb')
  })

  test('retries another when an agent cannot be dialled, with the whole body, and then skips it', async () => {
    await using group = await Group.of({ a: well })
    group.down.add(await group.join('b', well))
    const front = group.front()
    for (let count = 0; count < 6; count++) assert.equal((await front.post('content')).body, 'a')
    assert.equal(group.asked('b'), 0)
    assert.deepEqual(new Set(front.lost), new Set([undefined]))
  })

  test('tries at most two others when none can be dialled', async () => {
    await using group = await Group.of({})
    for (const name of ['a', 'b', 'c', 'd', 'e']) group.down.add(await group.join(name, well))
    const front = group.front()
    const { status, head } = await front.get()
    assert.equal(status, 502)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_90040/)
    assert.deepEqual([front.lost, new Set(group.dialled).size, group.dialled.length], [['not-sent'], 3, 3])
  })

  test('retries another when an agent cannot reach its service, and then skips it', async () => {
    await using group = await Group.of({ a: well, b: unreachable })
    const front = group.front()
    assert.equal(await answers(front, 8), 'aaaaaaaa')
    assert.equal(group.asked('b'), 1)
    group.manners.set('a', unreachable)
    // Its idle connections still lead to the service that was.
    group.agents.get('a')?.proxied.forEach(({ stream }) => stream.end())
    group.manners.set('b', well)
    assert.equal(
      (await front.ask('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n')).body,
      'b',
    )
  })

  test('does not retry a body that an agent was sent', async () => {
    await using group = await Group.of({ a: unreachable, b: unreachable })
    const front = group.front()
    const { status, head } = await front.post('content')
    assert.equal(status, 502)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_8012/)
    assert.equal(group.asked('a') + group.asked('b'), 1)
    assert.deepEqual(front.lost, ['no-response'])
  })

  test('retries once, at another tunnel, when a request got no byte of a response', async () => {
    await using group = await Group.of({ a: silent, b: silent, c: silent })
    const front = group.front()
    assert.equal((await front.get()).status, 502)
    assert.deepEqual(front.lost, ['no-response'])
    assert.equal(['a', 'b', 'c'].filter(name => group.asked(name) > 0).length, 2)
  })

  test('serves every idempotent request while one service is silent', async () => {
    await using group = await Group.of({ a: well, b: silent })
    assert.equal(await answers(group.front(), 10), 'aaaaaaaaaa')
  })

  test('sends a request that is not idempotent to one tunnel only', async () => {
    await using group = await Group.of({ a: silent, b: silent })
    const front = group.front()
    assert.equal(
      (await front.ask('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n')).status,
      502,
    )
    assert.equal(Math.sign(group.asked('a')) + Math.sign(group.asked('b')), 1)
    assert.deepEqual(front.lost, ['no-response'])
  })

  test('loses no idempotent request when an agent is disconnected', async () => {
    await using group = await Group.of({ a: well, b: well })
    const front = group.front()
    const held: Manner = () => group.agents.get('b')?.drop()
    group.manners.set('b', held)
    assert.equal(await answers(front, 4), 'aaaa')
  })

  test('distinguishes a request that was sent from one that was not', async () => {
    await using group = await Group.of({ a: silent })
    group.down.add(await group.join('b', well))
    const front = group.front()
    await front.get()
    await front.get()
    assert.ok(front.lost.includes('no-response'))
    assert.ok(!front.lost.includes(undefined))
  })

  for (const [edge, type, passthrough] of [
    ['tcp', '1', false],
    ['tls', '2', true],
    ['https', '3', false],
  ] as const)
    test(`shares the connections of ${edge} edges, which agents know as ${type}`, async () => {
      const echo: Manner = (stream, name) => {
        stream.attach({
          data: bytes => void stream.write(Buffer.concat([Buffer.from(`${name}:`), bytes])),
          end: () => stream.end(),
          closed: () => undefined,
        })
      }
      await using group = await Group.of({ a: echo, b: echo })
      group.down.add(await group.join('c', echo))
      const backend = build({ group: records.group(labels) }, group.parts(edge))
      const said: string[] = []
      for (let count = 0; count < 6; count++) said.push(await exchangeBytes(backend, 'hi'))
      assert.deepEqual(new Set(said), new Set(['a:hi', 'b:hi']))
      const header = group.agents.get('a')?.proxied[0]?.header
      assert.deepEqual(
        [header?.EdgeType, header?.Proto, header?.PassthroughTLS, header?.ClientAddr],
        [type, '', passthrough, '203.0.113.7:50000'],
      )
    })

  test('without an online tunnel opens no connection', async () => {
    await using group = await Group.of({})
    const backend = build({ group: records.group(labels) }, group.parts('tcp'))
    await assert.rejects(exchangeBytes(backend, 'hi'), { name: 'DialError', code: 'offline' })
  })
})
