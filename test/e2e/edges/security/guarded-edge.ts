import { World } from '../world.ts'
import type { RouteSpec } from './reference.ts'
import { Recorder } from './support.ts'

export const HOST = 'a.example.test'
export const OTHER = 'b.example.test'
/** What user_agent_filter refuses. */
export const BAD_AGENT = 'bad/1.0'

export const routes: readonly RouteSpec[] = [
  { name: 'root', path: '/' },
  { name: 'open', path: '/open' },
  { name: 'admin', path: '/admin', guard: 'ip_restriction' },
  { name: 'api', path: '/api', guard: 'user_agent_filter' },
  { name: 'public', path: '/api/public' },
  { name: 'exact', path: '/exact', exact: true, guard: 'user_agent_filter' },
  { name: 'only', host: OTHER, path: '/only', guard: 'ip_restriction' },
]

/** The route of a request, and the modules that processed it. */
interface Reason {
  readonly route: string | undefined
  readonly modules: readonly string[]
  readonly status: number
}

interface Shown {
  readonly route_id: string | null
  readonly modules: readonly { readonly name: string; readonly verdict: string }[] | null
  readonly status: number
}

/** An edge of two names, some of whose routes deny the clients of these tests. */
export class GuardedEdge implements AsyncDisposable {
  readonly world: World
  /** Behind the routes without a guard. */
  readonly open: Recorder
  /** Behind the others: whatever it gets has passed by a guard. */
  readonly secret: Recorder
  readonly ids = new Map<string, RouteSpec>()

  private constructor(world: World, open: Recorder, secret: Recorder) {
    this.world = world
    this.open = open
    this.secret = secret
  }

  static async start(): Promise<GuardedEdge> {
    const edge = new GuardedEdge(
      await World.start({ kept_requests: '10000' }),
      await Recorder.start('open'),
      await Recorder.start('secret'),
    )
    await edge.#build()
    return edge
  }

  async #build(): Promise<void> {
    const { world } = this
    const at = async ({ port }: Recorder): Promise<string> =>
      (await world.make('/backends/static', { address: `127.0.0.1:${port}` })).id
    const [open, secret] = [await at(this.open), await at(this.secret)]
    const policy = await world.make('/ip_policies', {})
    const rule = { ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'allow' }
    await world.make('/ip_policy_rules', rule)
    const guards = {
      ip_restriction: { ip_policy_ids: [policy.id] },
      user_agent_filter: { deny: ['^bad/'] },
    }
    const id = await world.edge([HOST, OTHER])
    for (const route of routes) {
      const made = await world.make(`/edges/https/${id}/routes`, {
        match: `${route.host ?? ''}${route.path}`,
        match_type: route.exact ? 'exact_path' : 'path_prefix',
        normalize_path: false,
        backend: { backend_id: route.guard ? secret : open },
        ...(route.guard && { [route.guard]: guards[route.guard] }),
      })
      this.ids.set(made.id, route)
    }
  }

  /** The gateway's record of a request. */
  async reason(requestId: string): Promise<Reason> {
    const { status, body } = await this.world.server.api.get(`/requests/${requestId}`)
    if (status !== 200) throw new Error(`${requestId}: ${status}`)
    return this.#shown(body)
  }

  /** The records of all requests so far, by id. */
  async reasons(): Promise<ReadonlyMap<string, Reason>> {
    const found = new Map<string, Reason>()
    for (let page: string | null = '/requests?limit=100'; page !== null;) {
      const { body } = await this.world.server.api.get(page)
      for (const request of body.requests) found.set(request.id, this.#shown(request))
      page = body.next_page_uri
    }
    return found
  }

  #shown({ route_id, modules, status }: Shown): Reason {
    return {
      route: this.ids.get(route_id ?? '')?.name,
      modules: (modules ?? []).map(({ name, verdict }) => `${name} ${verdict}`),
      status,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
    await this.open[Symbol.asyncDispose]()
    await this.secret[Symbol.asyncDispose]()
  }
}

/** Does work for each, some at a time. */
export async function each<T>(
  items: readonly T[],
  work: (item: T, at: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++
      await work(items[at] as T, at)
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}
