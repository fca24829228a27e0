import { fail } from '#base/errors.ts'
import { inTime } from '#base/in-time.ts'
import { pageByIdDesc } from '#base/page-by-id.ts'
import type { Channel } from '#cluster/channel.ts'
import type { RequestWatch, RequestWatches } from '#cluster/request-watches.ts'
import type { Gateway } from '#gateway/gateway.ts'
import type {
  CaptureRecord,
  ReplayOrder,
  RequestHistory,
  RequestPage,
  RequestWatcher,
} from '#contract/request-history.ts'

type ResourceBody = Record<string, unknown>

/** The results of responsive workers. */
export async function askAll<Result>(
  channels: readonly Channel[],
  method: string,
  argument: unknown,
): Promise<Result[]> {
  const asked = channels.map(channel => channel.request<Result>(method, argument))
  const answered = await Promise.allSettled(asked)
  return answered.flatMap(it => (it.status === 'fulfilled' ? [it.value] : []))
}

/** The requests that the workers have served; each knows its own. */
export class WorkerRequests implements RequestHistory {
  readonly #channels: () => readonly Channel[]
  readonly #watches: RequestWatches

  constructor(channels: () => readonly Channel[], watches: RequestWatches) {
    this.#channels = channels
    this.#watches = watches
  }

  find(id: string): Promise<ResourceBody | undefined> {
    return this.#findOne<ResourceBody>('findRequest', id)
  }

  async list(page: RequestPage): Promise<ResourceBody[]> {
    const found = await askAll<ResourceBody[]>(this.#channels(), 'listRequests', page)
    return pageByIdDesc(found.flat(), ({ id }) => String(id), page)
  }

  watch(filters: RequestWatch['filters'], watcher: RequestWatcher): () => void {
    return this.#watches.add(filters, watcher)
  }

  capture(id: string): Promise<CaptureRecord | undefined> {
    return this.#findOne<CaptureRecord>('findCapture', id)
  }

  /** Only the process that has the capture sends it again. */
  async replay(order: ReplayOrder): Promise<CaptureRecord | undefined> {
    for (const channel of this.#channels()) {
      const isThere = await channel.request<boolean>('hasCapture', order.id).catch(() => false)
      if (isThere) return channel.request('replay', order)
    }
    return undefined
  }

  /** All workers decide alike, so the first that responds is right. */
  readonly explain: Gateway['explain'] = async request => {
    for (const channel of this.#channels()) {
      const found = await inTime(channel.request<Awaited<ReturnType<Gateway['explain']>>>('explain', request))
      if (found !== undefined) return found
    }
    return fail('gateway_silent')
  }

  async #findOne<Found>(method: string, id: string): Promise<Found | undefined> {
    const found = await askAll<Found | undefined>(this.#channels(), method, id)
    return found.find(each => each !== undefined)
  }
}
