import assert from 'node:assert/strict'
import { cpSync, readFileSync } from 'node:fs'
import { connect as dialPort } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { restrictionTypes } from '#contract/kinds/ip-restriction.ts'
import { operations } from '#contract/operations.ts'
import { Random, seedOfRun } from '../durability/random.ts'
import { World } from '../edges/world.ts'
import { freePorts } from '../../support/free-ports.ts'
import { startPostgres, type TestPostgres } from '../../support/postgres.ts'
import { isCollection, Seeds } from '../../support/seeds.ts'
import { spawnServer, type Process } from '../../support/server.ts'
import { damaged, postgresRows, sqliteRows, type Rows } from './damage.ts'
import { isLongRun } from './measurements.ts'
import { until } from '../../support/until.ts'
import { Folder } from '../../support/folder.ts'
import { echo } from '../../support/net.ts'

const ROUNDS = isLongRun ? 40 : 2
/** Of each kind of endpoint, so that damage of many kinds meets each of them. */
const VICTIMS = isLongRun ? 6 : 3

/** A server process with what the tests of edges know how to ask. */
async function startWorld(folder: Folder, environment: Record<string, string>) {
  const process = await spawnServer(folder.path, { ADIT_EGRESS_ALLOW: '127.0.0.0/8', ...environment })
  const { api, bound } = process
  const authtoken = readFileSync(join(folder.path, 'authtoken'), 'utf8').trim()
  const world = new World({
    api,
    bound,
    authtoken,
    dataDir: folder.path,
    [Symbol.asyncDispose]: () => end(process),
  })
  return { process, world, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function end({ child, ...process }: Process): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await process.end('SIGKILL')
}

/** All that a connection to a port receives; undefined if nothing listens there. */
async function bytesFrom(port: number): Promise<string | undefined> {
  const socket = dialPort(port, '127.0.0.1')
  let [text, isRefused] = ['', false]
  socket.setEncoding('utf8').on('data', part => (text += String(part)))
  socket.on('error', (error: NodeJS.ErrnoException) => (isRefused = error.code === 'ECONNREFUSED'))
  socket.end('ping')
  await new Promise(resolve => socket.once('close', resolve))
  return isRefused ? undefined : text
}

const portOf = (address: unknown): number => Number(String(address).split(':').at(-1))

/** An endpoint of every way to be configured; `name` is a label of its names. */
async function makeEndpoints(world: World, name: string, servicePort: number) {
  const edge = await world.edge([`${name}-edge.example.test`])
  await world.route(edge, '/', await world.fixedResponse('edge answers'))
  const configuration = await world.make('/endpoint_configurations', {
    type: 'https',
    backend: { backend_id: await world.fixedResponse('domain answers') },
  })
  await world.make('/reserved_domains', {
    domain: `${name}-domain.example.test`,
    https_endpoint_configuration_id: configuration.id,
  })
  const service = await world.make('/backends/static', { address: `127.0.0.1:${servicePort}` })
  const tcp = await world.make('/endpoint_configurations', {
    type: 'tcp',
    backend: { backend_id: service.id },
  })
  const address = await world.make('/reserved_addrs', { endpoint_configuration_id: tcp.id })
  const own = await world.make('/reserved_addrs')
  await world.make('/edges/tcp', { hostports: [own['addr']], backend: { backend_id: service.id } })
  await world.make('/reserved_domains', { domain: `${name}-tls.example.test` })
  await world.make('/edges/tls', {
    hostports: [`${name}-tls.example.test:443`],
    backend: { backend_id: service.id },
    tls_termination: {},
  })
  return { edge, ports: [portOf(address['addr']), portOf(own['addr'])] }
}

interface Made {
  /** What must go on while everything else is damaged. */
  readonly kept: ReadonlySet<string>
  readonly edge: string
  readonly ports: readonly number[]
  readonly victimPorts: readonly number[]
}

/** One of every kind with every module, endpoints that are to be damaged, and endpoints that are not. */
async function makeEverything(world: World, servicePort: number): Promise<Made> {
  const seeds = await Seeds.all(world.server.api)
  assert.ok((await setModules(world, seeds)) > 20)
  const policy = await seeds.id('ip_policies')
  for (const type of restrictionTypes.filter(each => each !== 'agent'))
    await world.make('/ip_restrictions', { type, ip_policy_ids: [policy] })
  const victimPorts: number[] = []
  for (let count = 0; count < VICTIMS; count++)
    victimPorts.push(...(await makeEndpoints(world, `victim${count}`, servicePort)).ports)
  const others = new Set(await everyId(world))
  const { edge, ports } = await makeEndpoints(world, 'control', servicePort)
  const kept = new Set((await everyId(world)).filter(id => !others.has(id)))
  return { kept, edge, ports, victimPorts }
}

async function everyId(world: World): Promise<string[]> {
  const lists = operations.filter(
    ({ does, params }) => 'verb' in does && does.verb === 'list' && params.length === 0,
  )
  const bodies = await Promise.all(
    lists.map(async ({ path }) => (await world.server.api.get(`${path}?limit=100`)).body),
  )
  const found = JSON.stringify(bodies).matchAll(/"id":"([^"]+)"/g)
  return [...found].map(([, id = '']) => id)
}

async function setModules(world: World, seeds: Seeds): Promise<number> {
  let count = 0
  for (const { does, method, path, kind, collection } of operations) {
    if (!('module' in does) || method !== 'PUT' || !isCollection(collection)) continue
    const item = path.slice(kind.path.length).replace('{id}', await seeds.id(collection))
    const target = (await seeds.path(collection)) + item
    const { status } = await world.server.api.put(target, await seeds.module(does.module))
    if (status === 200) count++
  }
  return count
}

async function assertServed(world: World, { ports, edge }: Made): Promise<void> {
  for (const [name, text] of [
    ['control-edge.example.test', 'edge answers'],
    ['control-domain.example.test', 'domain answers'],
  ] as const) {
    const got = await until(() => world.ask(name), { fits: ({ status }) => status !== 404 })
    assert.deepEqual([got.status, got.text], [200, text])
  }
  for (const port of ports) assert.equal(await until(() => bytesFrom(port)), 'ping')
  const agent = await world.agent()
  const service = await world.service((_, response) => response.end('tunnel'))
  const tunnel = await agent.listen({ proto: 'https', forwardTo: service })
  const through = await world.ask(new URL(tunnel.url ?? '').hostname)
  assert.deepEqual([through.status, through.text], [200, 'tunnel'])
  const { api } = world.server
  assert.equal((await api.patch(`/edges/https/${edge}`, { description: 'changed' })).status, 200)
}

/** Each damaged endpoint rejects, responds with 404, or responds with 503 and the reason; some still work. */
async function visitVictims(world: World, { victimPorts }: Made): Promise<number> {
  let unservable = 0
  for (let count = 0; count < VICTIMS; count++)
    for (const part of ['edge', 'domain', 'tls']) {
      const got = await world.ask(`victim${count}-${part}.example.test`).catch(() => undefined)
      if (got === undefined) continue
      assert.ok([200, 403, 404, 503].includes(got.status), `${got.status} ${got.text}`)
      if (got.status !== 503) continue
      assert.match(String(got.code), /^ERR_ADIT_\d+$/)
      unservable++
    }
  for (const port of victimPorts) await bytesFrom(port)
  return unservable
}

/** What is handled where it belongs never comes to the last resort. */
async function assertHandled(world: World): Promise<void> {
  const { status, body } = await world.server.api.get('/readyz')
  assert.deepEqual([status, body], [200, { status: 'ready' }])
}

/** What the first start made belongs to the admin, without whom nothing could be mended. */
const isOfAdmin = ({ kind, body }: { kind: string; body: string }): boolean =>
  kind === 'user' ? body.includes('admin@localhost') : body.includes('created at the first start')

async function damageAll(rows: Rows, { kept }: Made, random: Random): Promise<void> {
  const victims = (await rows.all()).filter(row => !kept.has(row.id) && !isOfAdmin(row))
  assert.ok(new Set(victims.map(({ kind }) => kind)).size > 25)
  for (const row of victims) await rows.write({ ...row, body: damaged(row.body, random) })
}

async function variablesFor(more: Record<string, string> = {}): Promise<Record<string, string>> {
  const [port = 0] = await freePorts(1)
  return { ADIT_TCP_PORTS: `${port}-${port + 40}`, ...more }
}

const onFile = (folder: Folder) => sqliteRows(join(folder.path, 'adit.db'))

suite('random damage of rows of every kind', () => {
  const seed = seedOfRun()
  const sound = new Folder()
  let service: Awaited<ReturnType<typeof echo>>
  let variables: Record<string, string>
  let made: Made
  /** Random damage may spare all endpoints of a round, but not of all rounds. */
  let unservable = 0
  before(async () => {
    service = await echo()
    variables = await variablesFor()
    await using first = await startWorld(sound, variables)
    made = await makeEverything(first.world, service.port)
    await assertServed(first.world, made)
    await first.process.end('SIGTERM')
  })
  after(async () => {
    await service[Symbol.asyncDispose]()
    sound[Symbol.dispose]()
  })

  /** A copy of the sound data, damaged. */
  async function damagedCopy(at: number): Promise<Folder> {
    const folder = new Folder()
    cpSync(sound.path, folder.path, { recursive: true })
    using rows = onFile(folder)
    await damageAll(rows, made, new Random(at))
    return folder
  }

  for (let round = 0; round < ROUNDS; round++)
    test(`leaves the rest served after a start, seed ${seed + round}`, async () => {
      using folder = await damagedCopy(seed + round)
      await using again = await startWorld(folder, variables)
      await assertServed(again.world, made)
      unservable += await visitVictims(again.world, made)
      await assertHandled(again.world)
    })

  test(`leaves the rest served by several processes, seed ${seed}`, async () => {
    using folder = await damagedCopy(seed)
    await using again = await startWorld(folder, { ...variables, ADIT_WORKERS: '2' })
    await assertServed(again.world, made)
    await visitVictims(again.world, made)
    await assertServed(again.world, made)
    await assertHandled(again.world)
  })

  test(`leaves the rest served while it runs, seed ${seed}`, async () => {
    using folder = new Folder()
    cpSync(sound.path, folder.path, { recursive: true })
    await using running = await startWorld(folder, variables)
    await assertServed(running.world, made)
    using rows = onFile(folder)
    await damageAll(rows, made, new Random(seed))
    // The server follows the log of changes whenever it writes itself.
    await assertServed(running.world, made)
    unservable += await visitVictims(running.world, made)
    await assertServed(running.world, made)
    await assertHandled(running.world)
  })

  test('leaves the rest served whatever an IP restriction contains', async () => {
    using folder = new Folder()
    cpSync(sound.path, folder.path, { recursive: true })
    using rows = onFile(folder)
    const restrictions = (await rows.all()).filter(({ kind }) => kind === 'ip_restriction')
    assert.equal(restrictions.length, restrictionTypes.length)
    const damage = async (change: (body: string) => string) => {
      for (const row of restrictions) await rows.write({ ...row, body: change(row.body) })
    }
    await damage(body => JSON.stringify({ ...(JSON.parse(body) as object), ip_policies: 5 }))
    await using running = await startWorld(folder, variables)
    await assertServed(running.world, made)
    await damage(() => '{]')
    await assertServed(running.world, made)
    await assertHandled(running.world)
  })

  test('makes some endpoints answer 503', () => assert.ok(unservable > 0))

  suite('on PostgreSQL', () => {
    let database: TestPostgres
    before(async () => {
      database = await startPostgres()
    })
    after(() => database.stop())

    test(`leaves the rest served while it runs and after a start, seed ${seed}`, async () => {
      using folder = new Folder()
      const url = await database.newDatabase()
      const own = await variablesFor({ ADIT_DATABASE_URL: url })
      let all: Made
      {
        await using first = await startWorld(folder, own)
        all = await makeEverything(first.world, service.port)
        await using rows = await postgresRows(url)
        await damageAll(rows, all, new Random(seed))
        await assertServed(first.world, all)
        await visitVictims(first.world, all)
      }
      await using again = await startWorld(folder, own)
      await assertServed(again.world, all)
      await assertHandled(again.world)
    })
  })
})
