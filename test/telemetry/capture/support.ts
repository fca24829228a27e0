import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Agent, EndpointOptions } from '#agent/index.ts'
import { World } from '../../e2e/edges/world.ts'
import type { Member } from '../../support/members.ts'
import type { Answer, CallOptions } from '../../support/server.ts'
import { until } from '../../support/until.ts'

interface Header {
  readonly name: string
  readonly value: string
}

/** The values of a header in a captured message. */
export const valuesOf = ({ headers }: { readonly headers: readonly Header[] }, name: string): string[] =>
  headers.filter(header => header.name.toLowerCase() === name).map(({ value }) => value)

/** A world whose requests are captured. */
export class CaptureWorld extends World {
  static override async start(settings: Record<string, string> = {}): Promise<CaptureWorld> {
    const { server } = await World.start(settings)
    return new CaptureWorld(server)
  }

  /** Turns capture on, and waits until the gateway captures the request of `visit`. */
  async capture(
    target: Record<string, unknown>,
    visit: () => Promise<{ requestId: string }>,
  ): Promise<string> {
    const { id } = await this.make('/captures', target)
    await this.until(visit, true)
    return id
  }

  /** Waits until requests are captured, or no longer are. */
  async until(visit: () => Promise<{ requestId: string }>, isOn: boolean): Promise<void> {
    await until(async () => (await this.isCaptured((await visit()).requestId)) === isOn)
  }

  async isCaptured(requestId: string): Promise<boolean> {
    const { body } = await this.server.api.get(`/requests/${requestId}`)
    return body.captured === true
  }

  read(requestId: string, options?: CallOptions): Promise<Answer> {
    return this.server.api.get(`/requests/${requestId}/capture`, options)
  }

  /** The capture of a request that has ended. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test may look at any field of any answer
  async captured(requestId: string): Promise<any> {
    const { body } = await until(() => this.read(requestId), {
      what: `the capture of ${requestId}`,
      fits: ({ status, body: found }) => status === 200 && found.complete === true,
    })
    return body
  }

  /** An agent of a member, with an endpoint at this name that says `fine` unless it forwards to another service. */
  async tunnel({ user }: Member, domain: string, options: Partial<EndpointOptions> = {}): Promise<Agent> {
    const { token } = await this.make('/credentials', { owner_id: user.id })
    const agent = await this.agent({ authtoken: String(token) })
    const forwardTo = await this.service((_, response) => response.end('fine'))
    await agent.listen({ proto: 'http', domain, forwardTo, ...options })
    return agent
  }

  /** The memory of all captures, as the server reports it. */
  heldBytes(): Promise<number> {
    return this.metric('adit_capture_bytes')
  }

  /** A metric without labels. */
  async metric(name: string): Promise<number> {
    const { url, token } = this.server.api
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await metrics.text())?.[1])
  }

  /** A request in HTTP/2, whose body has no declared length. */
  async ask2(host: string, path: string, body: string): Promise<{ requestId: string; text: string }> {
    const port = this.server.bound.https?.port
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: this.ca, servername: host })
    const stream = session.request({ ':method': 'POST', ':path': path, ':authority': host })
    stream.end(body)
    const [headers] = (await once(stream, 'response')) as [Record<string, string>]
    const got = { requestId: String(headers['adit-request-id']), text: await text(stream) }
    session.close()
    return got
  }

  /** A request in plain HTTP/1, as tunnels without TLS get them. */
  async askPlain(host: string, path: string): Promise<{ requestId: string; text: string }> {
    const port = this.server.bound.http?.port
    const asked = request({ host: '127.0.0.1', port, path, headers: { host }, agent: false }).end()
    const [response] = await once(asked, 'response')
    return { requestId: String(response.headers['adit-request-id']), text: await text(response) }
  }
}
