import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { World } from '../world.ts'
import { head, readAnswer, Recorder, sent, sentPlain, session, streamed } from './support.ts'
import { workerCounts } from '../../../support/workers.ts'

const paths = [
  '/.adit',
  '/.adit/',
  '/.adit/signed-in',
  '/.adit/signed-in?code=x&state=y',
  '/.adit/other/path',
]

interface Host {
  readonly name: string
  readonly isPlain?: boolean
}

/** One host of each kind, all with the same service and without sign-in. */
async function hosts(world: World, port: number): Promise<Host[]> {
  const backend = (await world.make('/backends/static', { address: `127.0.0.1:${port}` })).id
  await world.route(await world.edge(['edge.example.test']), '/', backend)
  const configured = { type: 'https', backend: { backend_id: backend } }
  const { id } = await world.make('/endpoint_configurations', configured)
  const domain = 'configured.example.test'
  await world.make('/reserved_domains', { domain, https_endpoint_configuration_id: id })
  const agent = await world.agent()
  await agent.listen({ proto: 'https', domain: 'opened.adit.localhost', forwardTo: port })
  await agent.listen({ proto: 'http', domain: 'clear.adit.localhost', forwardTo: port })
  await agent.listen({ labels: { kind: 'grouped' }, forwardTo: port })
  const group = await world.make('/backends/tunnel_group', { labels: { kind: 'grouped' } })
  await world.route(await world.edge(['grouped.example.test']), '/', group.id)
  return [
    { name: 'edge.example.test' },
    { name: domain },
    { name: 'opened.adit.localhost' },
    { name: 'grouped.example.test' },
    { name: 'clear.adit.localhost', isPlain: true },
  ]
}

suite("the gateway's own paths", () => {
  for (const workers of workerCounts)
    test(`reach no service of any endpoint, with ${workers} processes`, async () => {
      await using world = await World.start({ workers })
      await using service = await Recorder.start('service')
      for (const { name, isPlain } of await hosts(world, service.port)) {
        const plain = world.server.bound.http?.port ?? 0
        const ask = async (path: string) =>
          isPlain ? readAnswer(await sentPlain(plain, head(path, name))) : sent(world, name, head(path, name))
        assert.equal((await ask('/')).text, 'service', name)
        assert.equal((await ask('/.aditional')).text, 'service', name)
        assert.equal(service.taken().length, 2, name)
        for (const path of paths) {
          const answered = await ask(path)
          assert.equal(answered.status, 404, `${name}${path}`)
          assert.equal(answered.headers.get('adit-error-code'), 'ERR_ADIT_90240')
        }
        if (!isPlain) {
          using made = await session(world, name)
          for (const path of paths)
            assert.equal((await streamed(made, { ':path': path, ':authority': name })).status, 404)
        }
        assert.deepEqual(service.taken(), [], name)
      }
    })
})
