import { backgroundFailure } from '#base/background.ts'
import { fail, Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import type { Backend, BackendParts } from '#gateway/backends/backend.ts'
import { buildBackend } from '#gateway/backends/index.ts'
import { atBackend } from '#gateway/backends/upstream-record.ts'
import { chain } from '#gateway/routing/chain.ts'
import { planned } from '#gateway/routing/plan.ts'
import type { Endpoint, Handler } from '#http/exchange.ts'
import { type Modules, optionsOf, type ModuleSources } from '#gateway/modules/index.ts'
import { webhookVerificationModule } from '#gateway/modules/webhook-verification.ts'
import { previewOf, type Preview } from '#gateway/modules/preview.ts'
import { endpointOf, type ModuleContext } from '#http/module-context.ts'
import { errorReply } from '#http/pages.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { CapturedBy } from '#registry/always-captured.ts'
import type { RouteInfo } from '#http/request-context.ts'
import type { Captures } from '#telemetry/capture/captures.ts'

interface CompilerOptions extends Omit<BackendParts, 'child' | keyof BackendUse> {
  readonly records: Records
  readonly modules: Modules
  /** Records requests; absent: none. */
  readonly captures?: Pick<Captures, 'isActive' | 'asked'> | undefined
  readonly log: Log
}

// Each path to a backend has its own connections, so backends that refer to many others multiply.
const MAX_BACKENDS = 1000

/** The handler of one route or tunnel. */
export interface CompiledEndpoint {
  readonly answer: Endpoint
  close(): void
}

/** The use of a backend. */
type BackendUse = Pick<BackendParts, 'edge' | 'passthrough'>

/** Gets the id of every record that something depends on. */
export type DependsOn = (id: string) => void

/** What is built for one owner. */
interface Tree {
  readonly use: BackendUse
  readonly dependsOn: DependsOn
  readonly built: Backend[]
}

/**
 * Compiles records into handlers. What cannot be built responds with 503 and the reason: it is never served without it.
 */
export class Compiler {
  readonly #options: CompilerOptions

  constructor(options: CompilerOptions) {
    this.#options = options
  }

  /** Modules in front of a backend; `from` is undefined if there is none. */
  endpoint(
    sources: ModuleSources,
    moduleContext: ModuleContext,
    from: () => Pick<Backend, 'answer' | 'dial' | 'close'> | undefined,
  ): CompiledEndpoint {
    let backend: ReturnType<typeof from>
    try {
      backend = from()
      const place = backend?.dial === undefined ? moduleContext : { ...moduleContext, dial: backend.dial }
      const { names, handlers } = this.#options.modules.build(sources, place)
      const routeId = moduleContext.edgeId === undefined ? undefined : moduleContext.id
      const route: RouteInfo = {
        id: endpointOf(moduleContext),
        endpoint: endpointAt(moduleContext),
        edgeId: moduleContext.edgeId,
        routeId,
        match: moduleContext.match,
        modules: names,
        usage: moduleContext.usage,
        ownerId: moduleContext.ownerId ?? '',
        capturedBy: capturedBy(sources),
        logged: undefined,
      }
      const last = backend?.answer ?? (routeId === undefined ? offline : noBackend)
      const answer = answering(route, handlers, atBackend(last), this.#options.captures)
      const modules = names.map((name, at) => ({ name, preview: previewAt(handlers, at) }))
      const plan = { route, modules, backendId: backendIdIn(sources) }
      return {
        answer: planned(answer, backend === undefined ? { ...plan, lacks: 'backend' } : plan),
        close: () => backend?.close(),
      }
    } catch (error) {
      backend?.close()
      return this.unservable(error, moduleContext.id)
    }
  }

  /** The backend of an edge, a route or an endpoint configuration; undefined when it has none. */
  backend(owner: SourceRow, use: BackendUse, dependsOn: DependsOn): Backend | undefined {
    const options = optionsOf(owner, 'backend')
    if (options === undefined) return undefined
    const id = options['backend']
    if (typeof id !== 'string') return unusable('it does not name a backend')
    const built: Backend[] = []
    try {
      return this.#build(id, { use, dependsOn, built }, [])
    } catch (error) {
      // Children of a failed backend would leak their connections.
      for (const each of built) each.close()
      throw error
    }
  }

  #build(id: string, tree: Tree, above: readonly string[]): Backend {
    if (tree.built.length >= MAX_BACKENDS) unusable(`it refers to more than ${MAX_BACKENDS} others`)
    tree.dependsOn(id)
    const row = this.#options.records.backend(id)
    if (row === undefined) return unusable('it does not exist')
    if (above.includes(id)) unusable('backends form a cycle')
    const child = (other: string): Backend => this.#build(other, tree, [...above, id])
    const backend = buildBackend(row, { ...this.#options, ...tree.use, child })
    tree.built.push(backend)
    return backend
  }

  /** Replaces an endpoint that cannot be built: it responds with 503 and the reason. */
  unservable(error: unknown, id: string): CompiledEndpoint {
    const { log } = this.#options
    const isKnown = error instanceof Problem
    if (isKnown) log.warn({ id, reason: error.message }, 'an endpoint cannot be served')
    else
      backgroundFailure(
        { task: 'configuration', log, failed: 'an endpoint cannot be served', about: { id } },
        error,
      )
    const reason = isKnown ? error.message.replace(/\.$/, '') : 'its configuration cannot be used'
    const answer: Endpoint = async ({ head }) => errorReply('not_servable', head, { reason })
    return {
      answer: planned(answer, { error: { code: 'not_servable', values: { reason } } }),
      close: () => undefined,
    }
  }
}

const previewAt = (handlers: readonly Handler[], at: number): Preview | undefined => {
  const handler = handlers[at]
  return handler && previewOf(handler)
}

/** A tunnel responds itself, even if its configuration has a backend. */
function backendIdIn({ rows, agent }: ModuleSources): string | undefined {
  const ids = rows.map(row => optionsOf(row, 'backend')?.['backend'])
  return agent === undefined ? ids.find(id => typeof id === 'string') : undefined
}

function capturedBy({ rows, agent }: ModuleSources): CapturedBy | undefined {
  const row = rows.find(({ body }) => body['capture'] === true)
  if (row !== undefined) return row.kind === httpsEdgeRoute.name ? 'route' : 'configuration'
  return agent?.Capture === true ? 'agent' : undefined
}

const endpointAt = ({ id, edgeId }: ModuleContext): 'edge' | 'domain' | 'ephemeral' =>
  edgeId !== undefined ? 'edge' : id.startsWith('tn_') ? 'ephemeral' : 'domain'

const unusable = (reason: string): never => fail('module_unusable', { module: 'backend', reason })

const offline: Endpoint = async ({ head }) => errorReply('endpoint_offline', head)
const noBackend: Endpoint = async ({ head }) => errorReply('endpoint_offline', head, { lacks: 'backend' })

/** Modules in front of a backend. A client's request takes no other step: each would be cold memory with many routes. */
function answering(
  route: RouteInfo,
  handlers: readonly Handler[],
  backend: Endpoint,
  captures: CompilerOptions['captures'],
): Endpoint {
  const whole = chain(handlers, backend)
  const replayed = replaying(route, whole, backend)
  return exchange => {
    const { context } = exchange
    context.routing.route = route
    const endpoint = context.replayOf === undefined ? whole : replayed
    const isCaptured =
      captures !== undefined &&
      (captures.isActive || route.capturedBy !== undefined || context.captured !== undefined)
    return endpoint(isCaptured ? captures.asked(exchange, route) : exchange)
  }
}

/** A replay, for which its owner may skip the modules. */
function replaying({ modules, ownerId }: RouteInfo, whole: Endpoint, backend: Endpoint): Endpoint {
  const verifies = modules.includes(webhookVerificationModule.name)
  return exchange => {
    const { skipsModules, resigns, replayedBy } = exchange.context
    // The name may have another owner by now, whose modules and secrets the first one must not use.
    if (replayedBy !== undefined && replayedBy !== ownerId) fail('replay_not_owned')
    if (resigns && (skipsModules || !verifies))
      fail('replay_unsigned', {
        reason: skipsModules ? 'modules are skipped' : 'its route verifies no webhooks',
      })
    return skipsModules ? backend(exchange) : whole(exchange)
  }
}
