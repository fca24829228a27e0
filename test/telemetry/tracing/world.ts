import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage, type RequestListener } from 'node:http'
import type { Span } from '#telemetry/tracing/request-span.ts'
import { World } from '../../e2e/edges/world.ts'
import { Collector } from './support.ts'
import { until } from '../../support/until.ts'

export const TRACE = '0af7651916cd43dd8448eb211c80319c'
export const SPAN = 'b7ad6b7169203331'
export const SAMPLED = `00-${TRACE}-${SPAN}-01`
export const UNSAMPLED = `00-${TRACE}-${SPAN}-00`
export const HOST = 'traced.adit.localhost'

export type Headers = Record<string, string>

export const echoHeaders: RequestListener = ({ headers }, response) =>
  void response.end(JSON.stringify(headers))
export const echoedHeaders = ({ text }: { readonly text: string }): Headers => JSON.parse(text) as Headers

export const spansOfKind = (spans: readonly Span[], kind: number): Span[] =>
  spans.filter(span => span.kind === kind)

export function onlySpan(spans: readonly Span[], kind: number): Span {
  const [span, ...others] = spansOfKind(spans, kind)
  assert.ok(span !== undefined && others.length === 0, `${others.length} spans too many of kind ${kind}`)
  return span
}

/** Runs a scenario on a server that traces everything; what the collector got until the server was closed. */
export async function traced(
  play: (world: World, collector: Collector) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<{ readonly collector: Collector; readonly spans: readonly Span[] }> {
  await using collector = await Collector.start()
  {
    await using world = await World.start({
      traces_endpoint: collector.url,
      traces_sample: '1',
      ...settings,
    })
    await play(world, collector)
  }
  return { collector, spans: collector.spans }
}

export async function toEdge(world: World, handle: RequestListener = echoHeaders): Promise<Headers> {
  const edge = await world.edge([HOST])
  const backend = await world.static(handle)
  const route = await world.route(edge, '/', backend)
  await until(() => world.ask(HOST, { headers: { traceparent: UNSAMPLED } }), {
    fits: ({ status }) => status === 200,
  })
  return { edge, backend, route }
}

/** A service behind an agent, which can be reached without TLS; the tunnel's id. */
export async function toTunnel(world: World, handle: RequestListener = echoHeaders): Promise<string> {
  const agent = await world.agent()
  const forwardTo = `127.0.0.1:${await world.service(handle)}`
  return (await agent.listen({ proto: 'http', domain: HOST, forwardTo })).id
}

const plain = new Agent({ keepAlive: true, maxSockets: 32 })

export async function requestWithoutTls(
  { server }: World,
  headers: Headers = {},
): Promise<{ status?: number; text: string }> {
  const { port } = server.bound.http ?? {}
  const asked = get({ host: '127.0.0.1', port, headers: { host: HOST, ...headers }, agent: plain })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const text = (await response.setEncoding('utf8').toArray()).join('')
  return { status: response.statusCode ?? 0, text }
}

/** The value of one sample. */
export async function metric({ server }: World, sample: string): Promise<number> {
  const text = await (await fetch(`${server.api.url}/metrics`)).text()
  const line = text.split('\n').find(each => each.startsWith(`${sample} `))
  return Number(line?.slice(sample.length))
}
