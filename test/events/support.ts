import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { newId, timestamp } from '#base/ids.ts'
import { createLog } from '#base/log.ts'
import { Sealer } from '#base/secrets.ts'
import type { EventSource } from '#contract/events/source.ts'
import { DeliveryError, type Destination } from '#events/destination.ts'
import { EventEngine, type EngineOptions } from '#events/engine.ts'
import type { Row, Store, Write } from '#store/store.ts'
import { until } from '../support/until.ts'

interface Received {
  readonly event_id: string
  readonly event_type: string
  readonly object: { readonly id: string; readonly n?: number }
}

type Answer = { readonly status: number; readonly retryAfter?: number }

/** A service that accepts batches of events and responds as the test sets. */
export class Receiver implements AsyncDisposable {
  readonly batches: Received[][] = []
  /** Who sent each of the batches, where senders name themselves in their address. */
  readonly senders: string[] = []
  /** Every call, refused ones included. */
  calls = 0
  answer: (batch: readonly Received[]) => Answer | Promise<Answer> = () => ({ status: 200 })
  readonly #server: Server
  #changed: (() => void)[] = []

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const batch = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Received[]
      this.calls++
      const { status, retryAfter } = await this.answer(batch)
      if (status === 200) {
        this.batches.push(batch)
        this.senders.push(new URL(request.url ?? '', this.url).searchParams.get('from') ?? '')
      }
      if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
      response.writeHead(status).end()
      for (const changed of this.#changed.splice(0)) changed()
    })
  }

  static async start(port = 0): Promise<Receiver> {
    const receiver = new Receiver()
    receiver.#server.listen(port, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  get events(): Received[] {
    return this.batches.flat()
  }

  get numbers(): number[] {
    return this.events.flatMap(({ object }) => object.n ?? [])
  }

  /** Resolves when the condition holds; it is checked after each call. */
  async until(isSo: () => boolean): Promise<void> {
    await until(isSo, {
      ...MANY_EVENTS,
      next: () => new Promise<void>(resolve => this.#changed.push(resolve)),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** The timeout for thousands of events on a busy machine. */
export const MANY_EVENTS = { withinMs: 300_000 }

/** Sends batches to a URL: the minimum of a destination. */
export const httpDestination = (
  url: string,
  limits = { maxEvents: 100, maxBytes: 1_000_000 },
): Destination => ({
  ...limits,
  async send(batch, signal) {
    const body = `[${batch.map(event => event.body).join(',')}]`
    const answer = await fetch(url, { method: 'POST', body, signal }).catch((cause: unknown) => {
      throw new DeliveryError('connection refused', { cause })
    })
    await answer.bytes()
    if (answer.status === 200) return
    const seconds = answer.headers.get('retry-after')
    throw new DeliveryError(`answered ${answer.status}`, {
      permanent: answer.status === 400,
      ...(seconds !== null && { retryAfterMs: Number(seconds) * 1000 }),
    })
  },
  close: () => undefined,
})

export const fastDelivery = { maxWaitMs: 20, gatherMs: 1, pollMs: 50 }

/** A store with subscriptions, without the API in front of it. */
export class EventWorld implements AsyncDisposable {
  readonly store: Store
  readonly sealer = new Sealer(randomBytes(32))
  readonly #engines: EventEngine[] = []
  #count = 0

  constructor(store: Store) {
    this.store = store
  }

  /** A destination whose URL is stored like that of a webhook. */
  async destination(url: string): Promise<string> {
    const id = newId('ed')
    const body = { id, format: 'json', target: { webhook: { url, secret: null } } }
    await this.#write('event_destination', id, body, 1)
    return id
  }

  async redirect(id: string, url: string): Promise<void> {
    const row = await this.store.get(id)
    const body = { id, format: 'json', target: { webhook: { url, secret: null } } }
    await this.#write('event_destination', id, body, (row?.version ?? 0) + 1)
  }

  async subscription(
    sources: readonly (string | EventSource)[],
    destinations: readonly string[],
  ): Promise<string> {
    const id = newId('esb')
    await this.#subscribe(id, sources, destinations, 1)
    return id
  }

  async change(
    id: string,
    sources: readonly (string | EventSource)[],
    destinations: readonly string[],
  ): Promise<void> {
    const row = await this.store.get(id)
    await this.#subscribe(id, sources, destinations, (row?.version ?? 0) + 1)
  }

  async unsubscribe(id: string): Promise<void> {
    const row = await this.store.get(id)
    await this.#commit([
      { op: 'remove', id, version: row?.version ?? 0 },
      eventWrite('event_subscription_deleted.v0', { id }),
    ])
  }

  /** Writes events of a type. */
  async emit(type: string, times = 1): Promise<void> {
    const writes = Array.from({ length: times }, () => eventWrite(type, { id: 'x', n: this.#count++ }))
    await this.#commit(writes)
  }

  async engine(options: Partial<EngineOptions> = {}): Promise<EventEngine> {
    const engine = new EventEngine({
      store: this.store,
      sealer: this.sealer,
      accountId: 'ac_test',
      build: target => httpDestination(target.webhook?.url ?? ''),
      log: createLog('silent'),
      now: Date.now,
      timings: fastDelivery,
      ...options,
    })
    await engine.start()
    this.#engines.push(engine)
    return engine
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#engines.map(engine => engine.close()))
    await this.store[Symbol.asyncDispose]()
  }

  #subscribe(
    id: string,
    sources: readonly (string | EventSource)[],
    destinations: readonly string[],
    version: number,
  ) {
    const given = sources.map(source => (typeof source === 'string' ? { type: source } : source))
    const body = { id, sources: given, destinations }
    return this.#write('event_subscription', id, body, version, {
      ...body,
      destinations: destinations.map(each => ({ id: each, uri: '' })),
    })
  }

  async #write(kind: string, id: string, body: object, version: number, reported = body): Promise<void> {
    const row: Row = { id, kind, parent: null, version, body: JSON.stringify(body) }
    const op = version === 1 ? 'insert' : 'update'
    await this.#commit([
      { op, entry: { row, refs: [], claims: [] } },
      eventWrite(`${kind}_${version === 1 ? 'created' : 'updated'}.v0`, reported),
    ])
  }

  async #commit(writes: readonly Write[]): Promise<void> {
    const outcome = await this.store.commit(writes)
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal))
  }
}

export function eventWrite(type: string, object: object, at = Date.now()): Write {
  const id = newId('ev')
  const body = { event_id: id, event_type: type, event_timestamp: timestamp(at), object }
  return { op: 'event', event: { id, type, at: timestamp(at), body: JSON.stringify(body) } }
}
