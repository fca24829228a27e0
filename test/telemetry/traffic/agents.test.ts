import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { PublishEvents } from '#server/reorder-buffer.ts'
import { TrafficBroker } from '#server/traffic-broker.ts'
import type { SessionRecord } from '#registry/directory.ts'
import { usualFields } from '#contract/events/traffic-fields.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'
import { type Gateway, type GatewayOptions, startGateway, TestAgent } from '../../gateway/agents/support.ts'
import type { EventObject } from './support.ts'
import { until } from '../../support/until.ts'

const START = 'agent_session_start.v0'
const STOP = 'agent_session_stop.v0'
const wish = (...types: string[]) => new Map(types.map(type => [type, new Set<string>()]))

/** The events about the agents of a gateway. */
class Watch {
  readonly events: { type: string; object: EventObject }[] = []
  readonly hub: TrafficBroker
  #came = Promise.withResolvers<void>()

  constructor({ directory }: Gateway, apiUrl?: string, reported: readonly SessionRecord[] = []) {
    const tell: PublishEvents = published => {
      for (const { type, body } of published) this.events.push({ type, object: JSON.parse(body).object })
      this.#came.resolve()
      this.#came = Promise.withResolvers()
    }
    this.hub = new TrafficBroker({ publish: tell, accountId: 'ac_1', apiUrl })
    this.hub.subscribe(wish(START, STOP))
    this.hub.watchSessions(directory, reported)
  }

  async next(type: string): Promise<EventObject> {
    const look = () => this.events.find(event => event.type === type)
    return (await until(look, { what: type, next: () => this.#came.promise })).object
  }
}

async function watched(options: GatewayOptions = {}, apiUrl?: string) {
  const gateway = await startGateway(options)
  const watch = new Watch(gateway, apiUrl)
  const { token, id } = gateway.source.credential()
  return {
    gateway,
    watch,
    token,
    credentialId: id,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  }
}

suite('what is reported about agents', () => {
  test('has the start and the stop of a session, with its addresses', async () => {
    await using world = await watched()
    const agent = await TestAgent.signIn(world.gateway, world.token)
    const start = await world.watch.next(START)
    const { session, started_at: startedAt, ...facts } = start
    assert.match(session.id, /^ts_\w{27}$/)
    assert.deepEqual(Object.keys(session), ['id'])
    assert.ok(Date.parse(startedAt) > 0)
    assert.deepEqual(facts, {
      credential: { id: world.credentialId },
      agent_ip: '127.0.0.1',
      ingress_server_ip: '127.0.0.1',
      region: 'us',
      ingress_hostname: null,
      user_agent: 'adit/1.0',
      metadata: 'about me',
      os: 'linux',
      arch: 'x86_64',
      transport: 'muxado',
      expires_at: null,
      stopped_at: null,
      deprecated: null,
      error: null,
    })
    agent.session.close()
    const { stopped_at: stoppedAt, ...stop } = await world.watch.next(STOP)
    assert.ok(Date.parse(stoppedAt) >= Date.parse(startedAt))
    assert.deepEqual({ ...stop, stopped_at: null }, start)
  })

  test('is only the end of an agent that an earlier process has reported', async () => {
    await using world = await watched()
    const agent = await TestAgent.signIn(world.gateway, world.token)
    const { session } = await world.watch.next(START)
    const { sessions } = world.gateway.directory
    const later = new Watch(world.gateway, undefined, [...sessions.values()])
    agent.session.close()
    assert.equal((await later.next(STOP)).session.id, session.id)
    assert.deepEqual(
      later.events.map(({ type }) => type),
      [STOP],
    )
  })

  test('has addresses of the API where its own is set, and the name that the agent has asked for', async () => {
    await using world = await watched({}, 'https://api.example.com')
    const { credentialId } = world
    await TestAgent.signIn(world.gateway, world.token, { serverName: 'connect.adit.localhost' })
    const { session, credential, ingress_hostname: name } = await world.watch.next(START)
    assert.equal(session.uri, `https://api.example.com/tunnel_sessions/${session.id}`)
    assert.deepEqual(credential, {
      id: credentialId,
      uri: `https://api.example.com/credentials/${credentialId}`,
    })
    assert.equal(name, 'connect.adit.localhost')
  })

  test('has the reason of a stop', async () => {
    await using world = await watched()
    await TestAgent.signIn(world.gateway, world.token)
    await world.watch.next(START)
    world.gateway.source.remove(world.credentialId)
    assert.equal((await world.watch.next(STOP)).error, 'The credential was deleted.')
  })

  test('has the heartbeat timeout as a reason', async () => {
    await using world = await watched({ agents: { heartbeat: { intervalMs: 20, limitMs: 60 } } })
    await TestAgent.signIn(world.gateway, world.token, { mute: true })
    assert.match((await world.watch.next(STOP)).error, /silent/)
  })

  test('is nothing without a subscription', async () => {
    await using world = await watched()
    world.watch.hub.subscribe(wish(STOP))
    const agent = await TestAgent.signIn(world.gateway, world.token)
    agent.session.close()
    await world.watch.next(STOP)
    assert.deepEqual(
      world.watch.events.map(({ type }) => type),
      [STOP],
    )
  })
})

suite('gateways', () => {
  test('get the required fields, in one order, and no others', () => {
    const accountId = 'ac_1'
    const hub = new TrafficBroker({ publish: () => undefined, accountId })
    const received: WantedTraffic[] = []
    hub.onSubscriptionChange(wanted => received.push(wanted))
    const names = new Set(['http.request.method', 'conn.client_ip', 'no.such_field', 'conn.bytes_in'])
    hub.subscribe(new Map([['http_request_complete.v0', names]]))
    hub.subscribe(new Map([['tcp_connection_closed.v0', new Set(usualFields('tcp_connection_closed.v0'))]]))
    assert.deepEqual(received, [
      { accountId, http: [], tcp: [] },
      { accountId, http: ['conn.client_ip', 'http.request.method'], tcp: [] },
      { accountId, http: [], tcp: usualFields('tcp_connection_closed.v0') },
    ])
    assert.deepEqual(structuredClone(hub.wanted), hub.wanted)
  })
})
