import { ClientAbort } from '#http/exchange.ts'
import { noBody } from '#http/body.ts'
import { RequestContext } from '#http/request-context.ts'
import { newId } from '#base/ids.ts'
import { Router } from '#gateway/routing/router.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import { localEgress } from '../module-parts.ts'
import { startGateway, TestAgent, type Gateway, type GatewayOptions } from '../agents/support.ts'
import { httpClient, requestHead } from '../../support/records.ts'
import { sentReply } from '../../http/pages/read-reply.ts'

/** A gateway with a router in front of its agents. */
export async function startRouter(
  options: GatewayOptions = {},
  dialerOf: (gateway: Gateway) => AgentDialer = ({ sessions }) => sessions,
) {
  const gateway = await startGateway(options)
  const router = new Router({ ...gateway, dialer: dialerOf(gateway), egress: localEgress })
  return {
    gateway,
    router,
    source: gateway.source,
    agent: (owner?: string) => speakingAgent(gateway, owner),
    async [Symbol.asyncDispose]() {
      router.close()
      await gateway[Symbol.asyncDispose]()
    },
  }
}

/** An agent whose service answers every request with its id, the tunnel it came through, and the path. */
async function speakingAgent(gateway: Gateway, owner?: string): Promise<TestAgent> {
  const agent = await TestAgent.signIn(gateway, gateway.source.credential([], owner).token)
  agent.onProxied = (stream, header) => {
    stream.attach({
      data(bytes) {
        const path = /^\S+ (\S+)/.exec(bytes.toString())?.[1] ?? ''
        const text = `${header.Id} ${path}`
        stream.write(Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`))
      },
      end: () => stream.end(),
      closed: () => undefined,
    })
  }
  return agent
}

interface Visit {
  readonly method?: string
  readonly scheme?: 'http' | 'https'
  readonly ip?: string
  /** The name in the handshake, when it is not the host; null for none. */
  readonly serverName?: string | null
}

interface Outcome {
  readonly status: number
  readonly location: string | undefined
  readonly code: string | undefined
  readonly text: string
}

/** The response that a client gets. */
export async function visit(router: Router, url: string, options: Visit = {}): Promise<Outcome> {
  const { method = 'GET', scheme = 'https', ip = '192.0.2.7', serverName } = options
  const [host = '', ...rest] = url.split('/')
  const path = `/${rest.join('/')}`
  const client = httpClient({
    ip,
    localPort: 8443,
    scheme,
    serverName: serverName === null || scheme === 'http' ? undefined : (serverName ?? host),
  })
  const reply = await router.answer({
    client,
    head: requestHead(path, { method, host, authority: host }),
    body: noBody,
    clientAbort: new ClientAbort(),
    context: new RequestContext(),
    sendInformational: () => undefined,
  })
  const { head, body } = sentReply(reply)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  body.read({ data: bytes => (text += bytes.toString()), end: () => resolve(text), fail: reject }, false)
  return {
    status: head.status,
    location: head.fields.get('location'),
    code: head.fields.get('adit-error-code'),
    text: await promise,
  }
}

type Source = Gateway['source']

/** A group of tunnels with these labels. */
export const group = (source: Source, labels: Record<string, string>): string =>
  source.put('tunnel_group_backend', newId('bkdtg'), { labels })

export function httpsEdge(source: Source, names: readonly string[], modules: object = {}): string {
  return source.put('https_edge', newId('edghts'), {
    hostports: names.map(name => `${name}:443`),
    created_at: '2026-01-01T00:00:00Z',
    metadata: 'an edge',
    ...modules,
  })
}

export function route(source: Source, edge: string, match: string, fields: object = {}): string {
  const body = { match, match_type: 'path_prefix', edge_id: edge, backend: null, ...fields }
  return source.put('https_edge_route', newId('edghtsrt'), body, { parent: edge })
}

export const toBackend = (backend: string): object => ({ backend: { enabled: true, backend } })
