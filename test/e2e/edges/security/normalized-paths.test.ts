import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { World } from '../world.ts'
import { head, type Answered, Recorder, sent, session, streamed } from './support.ts'

const HOST = 'a.example.test'
const AMBIGUOUS = 400
const GUARDED = 403

/** What becomes of a target: a status of the gateway, or the target that the open service gets. */
const targets: Readonly<Record<string, string | typeof AMBIGUOUS | typeof GUARDED>> = {
  // An exact path.
  '/secret': GUARDED,
  '/secret/': GUARDED,
  '/secret//': GUARDED,
  '/secret/.': GUARDED,
  '/secret/x/..': GUARDED,
  '/./secret': GUARDED,
  '//secret': GUARDED,
  '/%73ecret/': GUARDED,
  '/secret/?a=/../b': GUARDED,
  '/secret%2f': AMBIGUOUS,
  '/secret;a=b': AMBIGUOUS,
  '/secret%20': AMBIGUOUS,
  '/secret.': AMBIGUOUS,
  '/secret./': AMBIGUOUS,
  '/secret/x': '/secret/x',
  '/secrets': '/secrets',
  // A prefix.
  '/admin': GUARDED,
  '/admin/x': GUARDED,
  '/admin/': GUARDED,
  '/x/../admin': GUARDED,
  '/%61dmin/%78': GUARDED,
  '/admin%20': AMBIGUOUS,
  '/admin%20/x': AMBIGUOUS,
  '/admin.': AMBIGUOUS,
  '/admin...': AMBIGUOUS,
  '/admin%09': AMBIGUOUS,
  '/admin%0a': AMBIGUOUS,
  '/admin%7f': AMBIGUOUS,
  '/%u0061dmin': AMBIGUOUS,
  '/%uff41dmin': AMBIGUOUS,
  '/%2561dmin': AMBIGUOUS,
  '/x/..%2fadmin': AMBIGUOUS,
  '/administrator': '/administrator',
  // An exact path with a slash, beside a prefix with the same.
  '/docs/': GUARDED,
  '/docs': GUARDED,
  '/both/': '/both/',
  '/both': GUARDED,
  // All else is forwarded as it was compared.
  '/': '/',
  '/a//b/./c/../d?x=//y/..': '/a/b/d?x=//y/..',
  '/%7Euser/%c3%a9%2f': '/~user/%C3%A9%2F',
  '/wiki/Inc.': '/wiki/Inc.',
  '/blank%20/': '/blank%20/',
  '/a/..': '/',
  // A route that takes paths as they come.
  '/raw//x/%7e?y': '/raw//x/%7e?y',
  '/raw/../raw/x': '/raw/../raw/x',
  '/raw/../secret': GUARDED,
  '/raw./x': AMBIGUOUS,
}

suite('a route that normalizes paths', () => {
  let world: World
  let open: Recorder
  let secret: Recorder
  let edge: string

  before(async () => {
    world = await World.start()
    ;[open, secret] = [await Recorder.start('open'), await Recorder.start('secret')]
    const at = async ({ port }: Recorder): Promise<string> =>
      (await world.make('/backends/static', { address: `127.0.0.1:${port}` })).id
    const [openId, secretId] = [await at(open), await at(secret)]
    const policy = await world.make('/ip_policies', {})
    await world.make('/ip_policy_rules', { ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'allow' })
    const guard = { ip_restriction: { ip_policy_ids: [policy.id] } }
    edge = await world.edge([HOST])
    await world.route(edge, '/', openId)
    await world.route(edge, '/both/', openId)
    await world.route(edge, '/raw', openId, { normalize_path: false })
    await world.route(edge, '/admin', secretId, guard)
    for (const path of ['/secret', '/docs/', '/both'])
      await world.route(edge, path, secretId, { ...guard, match_type: 'exact_path' })
  })
  after(async () => {
    await world[Symbol.asyncDispose]()
    await open[Symbol.asyncDispose]()
    await secret[Symbol.asyncDispose]()
  })

  function judge(target: string, { status }: Answered): void {
    const wanted = targets[target]
    const [request] = open.taken()
    assert.deepEqual(secret.taken(), [], target)
    assert.equal(status, typeof wanted === 'number' ? wanted : 200, target)
    assert.equal(request?.split(' ')[1], typeof wanted === 'number' ? undefined : wanted, target)
  }

  test('guards every spelling of its path, and forwards what was compared', async () => {
    for (const target of Object.keys(targets)) judge(target, await sent(world, HOST, head(target, HOST)))
  })

  test('does the same over HTTP/2', async () => {
    using made = await session(world, HOST)
    for (const target of Object.keys(targets))
      judge(target, await streamed(made, { ':path': target, ':authority': HOST }))
  })
})

test('routes from before the option take paths as they come, and new ones do not', async () => {
  await using world = await World.start()
  const [open, guarded] = [await world.fixedResponse('open'), await world.fixedResponse('guarded')]
  const edge = await world.edge([HOST])
  await world.route(edge, '/', open)
  const id = await world.route(edge, '/secret', guarded, { match_type: 'exact_path' })
  const path = `/edges/https/${edge}/routes/${id}`
  const { api } = world.server
  const shown = async (): Promise<unknown> => (await api.get(path)).body.normalize_path
  assert.equal(await shown(), true)
  assert.equal((await world.ask(`${HOST}/secret/`)).text, 'guarded')
  {
    using database = new DatabaseSync(join(world.server.dataDir, 'adit.db'))
    database.exec(`UPDATE resource SET body = json_remove(body, '$.normalize_path')`)
  }
  assert.equal(await shown(), false)
  for (const { id: each } of (await api.get(`/edges/https/${edge}`)).body.routes)
    await world.change(`/edges/https/${edge}/routes/${each}`, { description: 'changed' })
  assert.equal(await shown(), false)
  assert.equal((await world.ask(`${HOST}/secret/`)).text, 'open')
  await world.change(path, { normalize_path: true })
  const { text } = await world.ask(`${HOST}/secret/`)
  assert.equal(text, 'guarded')
})
