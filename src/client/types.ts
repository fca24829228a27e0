import type { dashboardCalls } from '#contract/dashboard.ts'
import type { Kind, KindTypes, Module } from '#contract/kind.ts'
import type { Kinds } from '#contract/kinds/index.ts'
import type { Static, TSchema } from '#contract/schema.ts'
import type { Create, Shape, Update, View } from '#contract/shape.ts'
import type { singletons } from '#contract/singletons.ts'
import type { streams } from '#contract/streams.ts'

export interface PageRequest {
  /** 1 to 100; default 100. */
  readonly limit?: number
  /** Only resources older than this id. */
  readonly before_id?: string
  /** List filters, if there are any. */
  readonly [filter: string]: string | number | undefined
}

export interface Page<Item> {
  /** Newest first. */
  readonly items: Item[]
  /** Options of the next page; absent on the last page. */
  readonly next?: PageRequest
}

/** One string for each path parameter before the resource's own. */
type Parents<Path extends string> = Path extends `${string}{${string}}${infer Rest}`
  ? [parent: string, ...Parents<Rest>]
  : []

/** Kinds without an id are few, and their lists are complete. */
type Paging<T extends KindTypes> = T['key'] extends 'id' ? [page?: PageRequest] : []

interface Verbs<S extends Shape, T extends KindTypes, Above extends string[] = Parents<T['path']>> {
  create(...args: [...Above, body: Create<S>]): Promise<View<S>>
  get(...args: [...Above, id: string]): Promise<View<S>>
  list(...args: [...Above, ...Paging<T>]): Promise<Page<View<S>>>
  /** Every resource, page after page. */
  all(...args: [...Above, ...Paging<T>]): AsyncGenerator<View<S>, void>
  update(...args: [...Above, id: string, body: Update<S>]): Promise<View<S>>
  delete(...args: [...Above, id: string]): Promise<void>
}

type Words<T extends KindTypes> = T['verb'] | ('list' extends T['verb'] ? 'all' : never)
type ShapeOf<M> = M extends Module<infer S> ? S : never
type Name<N> = N & string

type ModuleMethods<M, Above extends string[]> = {
  [N in keyof M as `replace_${Name<N>}`]: (
    ...args: [...Above, id: string, body: Create<ShapeOf<M[N]>>]
  ) => Promise<View<ShapeOf<M[N]>>>
} & {
  [N in keyof M as `get_${Name<N>}`]: (...args: [...Above, id: string]) => Promise<View<ShapeOf<M[N]>>>
} & {
  [N in keyof M as `delete_${Name<N>}`]: (...args: [...Above, id: string]) => Promise<void>
}

type ActionTarget<A, Above extends string[]> = A extends { onCollection: true }
  ? Above
  : [...Above, id: string]
type ActionBody<A> = A extends { input: infer S extends Shape } ? [body: Create<S>] : []
type ActionResult<A> = A extends { output: infer O extends TSchema } ? Static<O> : void

type ActionMethods<A, Above extends string[]> = {
  readonly [N in keyof A]: (
    ...args: [...ActionTarget<A[N], Above>, ...ActionBody<A[N]>]
  ) => Promise<ActionResult<A[N]>>
}

type Methods<S extends Shape, T extends KindTypes> = Pick<Verbs<S, T>, Words<T>> &
  ModuleMethods<T['modules'], Parents<T['path']>> &
  ActionMethods<T['actions'], Parents<T['path']>>

/** The operations of a kind: only those that it offers. */
type CollectionOf<K> = K extends Kind<infer S, infer T> ? Methods<S, T> : never

type Singletons = typeof singletons

/** Called with the number of messages that this client did not read in time. */
export type DroppedListener = (count: number) => void

export interface StreamOptions {
  /** Ends the stream. */
  readonly signal?: AbortSignal
  readonly dropped?: DroppedListener
  /** Called once the server has accepted the request: later items are not missed. */
  readonly opened?: () => void
}

type Streams = typeof streams
type FiltersOf<Part> = Part extends { readonly filters: infer Filters }
  ? { readonly [F in keyof Filters]?: string }
  : Record<string, never>

type StreamMethods = {
  readonly [N in keyof Streams]: (
    filters?: FiltersOf<Streams[N]>,
    options?: StreamOptions,
  ) => AsyncGenerator<Static<Streams[N]['data']>, void>
}

type DashboardCalls = typeof dashboardCalls

/** Signing in is for browsers; programs make links for them. */
interface DashboardMethods {
  link(): Promise<Static<DashboardCalls['link']['output']>>
  invite(body: Static<DashboardCalls['invite']['input']>): Promise<Static<DashboardCalls['invite']['output']>>
}

export type Client = { readonly [C in keyof Kinds]: CollectionOf<Kinds[C]> } & {
  readonly [N in keyof Singletons]: (
    filters?: FiltersOf<Singletons[N]>,
  ) => Promise<Static<Singletons[N]['output']>>
} & { readonly streams: StreamMethods; readonly dashboard: DashboardMethods }
