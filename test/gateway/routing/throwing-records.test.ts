import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import { Admission } from '#gateway/listeners/admission.ts'
import { TcpPorts } from '#gateway/listeners/tcp.ts'
import { TcpPortReconciler } from '#gateway/routing/tcp-port-reconciler.ts'
import { freePorts } from '../../support/free-ports.ts'
import { recordingLog } from '../agents/support.ts'
import { httpsEdge, route, startRouter, toBackend, visit } from './support.ts'

type Body = Record<string, unknown>

/** A body of which only these fields can be read: every other one throws, and so does what lists them. */
const throwing = (readable: Body): Body =>
  new Proxy(readable, {
    get(fields, name) {
      if (name in fields) return Reflect.get(fields, name) as unknown
      throw new RangeError(`injected: ${String(name)}`)
    },
    ownKeys() {
      throw new RangeError('injected: the names of fields')
    },
  })

type Plan = Awaited<ReturnType<typeof startRouter>>
type Source = Plan['source']

const answering = (source: Source, body: string): string =>
  source.put('http_response_backend', newId('bkdhr'), { status_code: 200, body, headers: null })

const reserve = (source: Source, domain: string, configuration: string): string =>
  source.put('reserved_domain', newId('rd'), { domain, https_endpoint_configuration: configuration })

/** Each puts records for `broken.test` of which one throws wherever it is looked into. */
const paths: Readonly<Record<string, (source: Source) => void>> = {
  'an edge': source => {
    const edge = source.putAsIs('https_edge', newId('edghts'), throwing({ hostports: ['broken.test:443'] }))
    route(source, edge, '/', toBackend(answering(source, 'never')))
  },
  'a route': source => {
    const edge = httpsEdge(source, ['broken.test'])
    const found = { match: '/', match_type: 'path_prefix', normalize_path: true }
    const body = throwing({ ...found, oauth: null, oidc: null, saml: null })
    source.putAsIs('https_edge_route', newId('edghtsrt'), body, { parent: edge })
  },
  'a certificate authority': source => {
    const authority = source.putAsIs('certificate_authority', newId('ca'), throwing({}))
    const mutual = { mutual_tls: { enabled: true, certificate_authorities: [authority] } }
    route(source, httpsEdge(source, ['broken.test'], mutual), '/', toBackend(answering(source, 'never')))
  },
  'an endpoint configuration': source => {
    const backend = { enabled: true, backend: answering(source, 'never') }
    const configuration = source.putAsIs('endpoint_configuration', newId('ec'), throwing({ backend }))
    reserve(source, 'broken.test', configuration)
  },
  ...Object.fromEntries(
    (
      [
        ['failover_backend', 'bkdfo'],
        ['http_response_backend', 'bkdhr'],
        ['static_backend', 'bkdsc'],
        ['tunnel_group_backend', 'bkdtg'],
        ['weighted_backend', 'bkdwd'],
      ] as const
    ).map(([kind, prefix]) => [
      `a ${kind}`,
      (source: Source) => {
        const backend = source.putAsIs(kind, newId(prefix), throwing({}))
        route(source, httpsEdge(source, ['broken.test']), '/', toBackend(backend))
      },
    ]),
  ),
  'a backend below another': source => {
    const below = source.putAsIs('weighted_backend', newId('bkdwd'), throwing({}))
    const backends = [answering(source, 'never'), below]
    const above = source.put('failover_backend', newId('bkdfo'), { backends })
    route(source, httpsEdge(source, ['broken.test']), '/', toBackend(above))
  },
}

suite('a record that throws when it is compiled', () => {
  for (const [what, put] of Object.entries(paths))
    test(`makes its own endpoint answer 503 with the reason: ${what}`, async () => {
      const { log, lines } = recordingLog()
      await using plan = await startRouter({ log })
      const { source, router } = plan
      route(source, httpsEdge(source, ['sound.test']), '/', toBackend(answering(source, 'sound')))
      put(source)
      for (let count = 0; count < 2; count++) {
        const { kind } = router.serverName('broken.test', '192.0.2.7')
        assert.equal(kind, 'http')
        const { status, code } = await visit(router, 'broken.test/')
        assert.deepEqual([status, code], [503, 'ERR_ADIT_90043'])
        assert.equal((await visit(router, 'sound.test/')).text, 'sound')
      }
      assert.ok(lines.some(({ text }) => text === 'an endpoint cannot be served'))
    })
})

async function startPorts(plan: Plan) {
  const { gateway, router } = plan
  const ports = new TcpPorts({ admission: new Admission(), log: gateway.log, host: '127.0.0.1' })
  const open = () => new TcpPortReconciler({ ...gateway, router, ports })
  return { ports, open, [Symbol.asyncDispose]: () => ports.drain(0) }
}

/** Resolves when a connection is closed without a byte. */
async function closedAtOnce(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('data', bytes => assert.fail(`got ${bytes.toString()}`))
  let failure: string | undefined
  socket.on('error', (error: NodeJS.ErrnoException) => (failure = error.code))
  await new Promise(resolve => socket.once('close', resolve))
  assert.notEqual(failure, 'ECONNREFUSED')
}

suite('a TCP port whose record throws', () => {
  for (const when of ['before', 'after'] as const)
    test(`stays open and closes connections, and others are opened: put ${when} the start`, async () => {
      await using plan = await startRouter()
      await using world = await startPorts(plan)
      const { source } = plan
      const [broken = 0, edgePort = 0, sound = 0] = await freePorts(3)
      const put = (): void => {
        const backend = { enabled: true, backend: 'bkdwd_nothing' }
        const configuration = source.putAsIs('endpoint_configuration', newId('ec'), throwing({ backend }))
        const addr = { addr: `tcp.test:${broken}`, endpoint_configuration: configuration }
        source.put('reserved_addr', newId('ra'), addr)
        source.putAsIs('tcp_edge', newId('edgtcp'), throwing({ hostports: [`tcp.test:${edgePort}`] }))
        // Of these not even the port can be read.
        source.putAsIs('tcp_edge', newId('edgtcp'), throwing({}))
        source.putAsIs('reserved_addr', newId('ra'), throwing({}))
        const group = source.put('tunnel_group_backend', newId('bkdtg'), { labels: { app: 'x' } })
        source.put('tcp_edge', newId('edgtcp'), { hostports: [`tcp.test:${sound}`], ...toBackend(group) })
      }
      if (when === 'before') put()
      const keeper = world.open()
      if (when === 'after') put()
      await keeper.settled()
      assert.deepEqual(new Set(world.ports.ports), new Set([broken, edgePort, sound]))
      await Promise.all([closedAtOnce(broken), closedAtOnce(edgePort)])
      keeper.close()
    })
})

suite('a listener of records that throws', () => {
  test('does not keep changes from other listeners', async () => {
    const { log, lines } = recordingLog()
    await using plan = await startRouter({ log })
    const { gateway, source, router } = plan
    const seen: string[] = []
    gateway.records.onAnyChange(() => {
      throw new RangeError('injected')
    })
    gateway.records.onAnyChange(({ kind }) => seen.push(kind))
    route(source, httpsEdge(source, ['sound.test']), '/', toBackend(answering(source, 'sound')))
    assert.deepEqual(seen, ['https_edge', 'http_response_backend', 'https_edge_route'])
    assert.equal((await visit(router, 'sound.test/')).text, 'sound')
    assert.ok(lines.some(({ fields }) => String(fields['error']).includes('injected')))
  })
})
