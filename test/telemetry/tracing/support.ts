import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Span } from '#telemetry/tracing/request-span.ts'
import { until } from '../../support/until.ts'

interface Batch {
  readonly resource: Readonly<Record<string, string | number>>
  readonly scope: { readonly name: string; readonly version: string }
  readonly spans: readonly Span[]
}

type Attributes = Span['attributes']

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes }
    readonly scopeSpans: readonly { readonly scope: Batch['scope']; readonly spans: readonly Span[] }[]
  }[]
}

interface Answer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** The attributes of a span or a resource; one that is neither a text nor a whole number ends the test. */
export function factsOf(attributes: Attributes): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      if ('stringValue' in value && typeof value.stringValue === 'string') return [key, value.stringValue]
      if ('intValue' in value && /^\d+$/.test(value.intValue)) return [key, Number(value.intValue)]
      throw new Error(`${key} is neither a text nor a number: ${JSON.stringify(value)}`)
    }),
  )
}

/** An OpenTelemetry collector that stores what it receives. */
export class Collector implements AsyncDisposable {
  readonly batches: Batch[] = []
  /** Every call, refused ones included. */
  readonly calls: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }[] =
    []
  answer: (call: number) => Answer | Promise<Answer> = () => ({ status: 200, body: '{}' })
  readonly #server: Server
  #changed: (() => void)[] = []

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString()
      this.calls.push({ url: request.url ?? '', headers: request.headers, body })
      const { status, headers = {}, body: content } = await this.answer(this.calls.length)
      if (status === 200) this.#keep(body)
      response.writeHead(status, headers).end(content)
      for (const changed of this.#changed.splice(0)) changed()
    })
  }

  static async start(port = 0): Promise<Collector> {
    const collector = new Collector()
    collector.#server.listen(port, '127.0.0.1')
    await once(collector.#server, 'listening')
    return collector
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get spans(): Span[] {
    return this.batches.flatMap(({ spans }) => spans)
  }

  /** Resolves when the condition holds; it is checked after each call. */
  async until(isSo: () => boolean): Promise<void> {
    await until(isSo, { next: () => new Promise<void>(resolve => this.#changed.push(resolve)) })
  }

  #keep(body: string): void {
    for (const { resource, scopeSpans } of (JSON.parse(body) as Sent).resourceSpans)
      for (const { scope, spans } of scopeSpans)
        this.batches.push({ resource: factsOf(resource.attributes), scope, spans })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** The URL of a server that has stopped. */
export async function unreachableUrl(): Promise<string> {
  await using gone = await Collector.start()
  return gone.url
}
