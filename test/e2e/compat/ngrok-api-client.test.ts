import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { startServer, type TestServer } from '../../support/server.ts'
import { clientMethods, clientVersion, openClient, type Client, type Value } from './client.ts'
import { scenarios } from './scenarios/index.ts'
import { readDocument, resultsText } from './table.ts'
import { Trial, type Result } from './trial.ts'
import { newWorld, type World } from './world.ts'

suite(`the published client @ngrok/ngrok-api ${clientVersion}`, () => {
  let server: TestServer
  let client: Client
  let world: World
  const results: Result[] = []

  before(async () => {
    server = await startServer()
    client = openClient(server.api.token, server.api.url)
    world = await newWorld(server)
  })
  after(async () => {
    await world.agent.close()
    await server[Symbol.asyncDispose]()
  })

  test('has the services and methods that the scenarios are written for', () => {
    assert.deepEqual(new Set(Object.keys(scenarios)), new Set(clientMethods.keys()))
    assert.equal([...clientMethods.values()].flat().length, 222)
    assert.deepEqual(client.unreachable, [
      'EdgeRoutePolicyModule',
      'TCPEdgePolicyModule',
      'TLSEdgePolicyModule',
    ])
  })

  for (const [service, methods] of clientMethods) {
    test(`${service}: ${methods.join(', ')}`, async () => {
      const trial = new Trial(service, client)
      const scenario = scenarios[service]
      assert.ok(scenario, `${service} has a scenario`)
      await scenario(trial, world)
      const tried = trial.results.map(({ method }) => method)
      assert.deepEqual(tried.toSorted(), methods.toSorted(), 'each method is tried once')
      results.push(...trial.results)
    })
  }

  test('gave the results that docs/compatibility.md states', () => {
    const advice = 'run: node test/e2e/compat/write-table.ts'
    assert.equal(readDocument().results, resultsText(results), advice)
  })

  test('reads lists of more than one page', async () => {
    const policies = new Trial('IPPolicies', client)
    const made: string[] = []
    for (let count = 0; count < 205; count++) made.push((await world.make('/ip_policies')).id)
    const ids = async (...args: unknown[]) =>
      (await policies.call('list', ...args)).map(({ id }: Value) => id) as string[]

    const all = await ids()
    assert.equal(new Set(all).size, all.length)
    assert.deepEqual(all, all.toSorted().toReversed())
    assert.ok(new Set(made).isSubsetOf(new Set(all)))
    assert.deepEqual(await ids(undefined, '7'), all)
    assert.deepEqual(await ids(all[99]), all.slice(100))
  })

  test('gets errors in the format that it parses', async () => {
    const rules = new Trial('IPPolicyRules', client)
    const rule = { cidr: '10.0.0.1', ipPolicyId: world.policies[0], action: 'allow' }
    const isFault = (expected: object) => (error: Value) => {
      assert.partialDeepStrictEqual(error, { statusCode: 400, ...expected })
      assert.match(error.details.get('operationId'), /^op_/)
      return true
    }
    await assert.rejects(rules.call('create', rule), isFault({ errorCode: 'ERR_NGROK_1413' }))
    const wordy = { ...rule, cidr: '10.0.0.0/8', description: 'é'.repeat(128) }
    await assert.rejects(rules.call('create', wordy), isFault({ errorCode: 'ERR_NGROK_1421' }))
    const stranger = new Trial('IPPolicies', openClient('unknown', server.api.url))
    await assert.rejects(stranger.call('list'), { statusCode: 401, errorCode: 'ERR_NGROK_203' })
  })
})
