import type { IdPage } from '#base/page-by-id.ts'
import type { ResourceBody } from '#contract/body.ts'

export interface RequestPage extends IdPage {
  /** Values of the contract's list filters, checked by the API. */
  readonly filters?: Readonly<Record<string, string>>
}

/** Takes requests as they end. */
export interface RequestWatcher {
  seen(request: ResourceBody): void
  /** So many could not be reported in time. */
  dropped(count: number): void
}

/** The captured headers and bodies of a request, in the form of the management API. */
export interface CaptureRecord {
  /** The owner of its endpoint; empty if members share it. */
  readonly ownerId: string
  readonly capture: ResourceBody
}

/** A request to send again; what is absent stays as captured. */
export interface ReplayOrder {
  readonly id: string
  /** The address of the caller, as the client address of the new request. */
  readonly ip: string
  /** `agent`: straight to the backend, without modules. */
  readonly via: 'edge' | 'agent'
  /** Another endpoint, as clients address it. */
  readonly endpoint?: { readonly scheme: 'http' | 'https'; readonly authority: string } | undefined
  /** One tunnel, whatever endpoint it belongs to. */
  readonly tunnelId?: string | undefined
  /** The member who sends it, only to own endpoints; absent for admins. */
  readonly memberId?: string | undefined
  readonly method?: string | undefined
  /** Path and query. */
  readonly path?: string | undefined
  /** Each name replaces all headers of that name; null removes them. */
  readonly headers: readonly { readonly name: string; readonly value: string | null }[]
  readonly body?: Uint8Array | undefined
  /** The webhook verification of the route signs it in place of the sender. */
  readonly resign: boolean
}

/** The last requests, of every process. */
export interface RequestHistory {
  find(id: string): Promise<ResourceBody | undefined>
  /** Newest first. */
  list(page: RequestPage): Promise<ResourceBody[]>
  /** Reports each request that has ended and passes the filters; returns how to stop. */
  watch(filters: NonNullable<RequestPage['filters']>, watcher: RequestWatcher): () => void
  /** Undefined if the request was not captured, or its capture was evicted. */
  capture(id: string): Promise<CaptureRecord | undefined>
  /** Sends a captured request again; returns the capture of the new one, or undefined as above. */
  replay(order: ReplayOrder): Promise<CaptureRecord | undefined>
}
