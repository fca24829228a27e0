import { fail } from '#base/errors.ts'
import { kindNamed } from '#contract/kinds/index.ts'
import type { Handler } from '#http/exchange.ts'
import { basicAuthModule } from '#gateway/modules/basic-auth.ts'
import { circuitBreakerModule } from '#gateway/modules/circuit-breaker.ts'
import { compressionModule } from '#gateway/modules/compression.ts'
import { requestHeadersModule, responseHeadersModule } from '#gateway/modules/headers.ts'
import { addressesOf, ipRestrictionModule } from '#gateway/modules/ip-restriction.ts'
import type { HttpModule, ModuleParts, SignInModule } from '#gateway/modules/module.ts'
import type { ModuleContext } from '#http/module-context.ts'
import { mutualTlsModule } from '#gateway/modules/mutual-tls.ts'
import { oauthModule } from '#gateway/modules/oauth.ts'
import { oidcModule } from '#gateway/modules/oidc.ts'
import { samlModule } from '#gateway/modules/saml.ts'
import { userAgentFilterModule } from '#gateway/modules/user-agent-filter.ts'
import { webhookVerificationModule } from '#gateway/modules/webhook-verification.ts'
import { websocketTcpModule } from '#gateway/modules/websocket-tcp-converter.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { SignInOffer } from '#auth/sign-in/sign-in.ts'
import type { JsonObject } from '#base/json-fields.ts'
import type { BindOptions } from '#tunnel/messages.ts'

/** In the order of the page on which users choose. */
const signInModules: readonly SignInModule[] = [oauthModule, oidcModule, samlModule]

/** Modules in the order in which they run. */
const order: readonly (HttpModule | 'sign-in')[] = [
  // First: unauthenticated clients learn nothing.
  mutualTlsModule,
  // Cheap, and it keeps strangers from guessing passwords.
  ipRestrictionModule,
  userAgentFilterModule,
  // Webhook senders sign and do not sign in.
  webhookVerificationModule,
  // Sign-in comes before all modules that change responses: its own responses stay unchanged.
  basicAuthModule,
  'sign-in',
  // Outside of compression, so that its changes are final.
  responseHeadersModule,
  compressionModule,
  // Right above the service: it counts the service's responses, not those of other modules.
  circuitBreakerModule,
  // The last to see a request, so that the others decide by what the client sent.
  requestHeadersModule,
  websocketTcpModule,
]

/** Not request modules: they define where traffic goes, and how its connection is made. */
const nonChainModules = new Set(['backend', 'tls_termination'])
const all = [...order.filter(entry => entry !== 'sign-in'), ...signInModules]
const known = new Set([
  ...nonChainModules,
  ...all.flatMap(module => ('alias' in module && module.alias ? [module.name, module.alias] : module.name)),
])
/** Agent options that this gateway does not support. */
const unsupportedOptions: readonly (keyof BindOptions)[] = ['TrafficPolicy', 'Policy']

/** The clients allowed without any restriction. */
export const allowAll = (): boolean => true

/** Handlers with their names, in order. */
interface Attached {
  readonly names: readonly string[]
  readonly handlers: readonly Handler[]
}

interface Built {
  readonly names: readonly string[]
  readonly handler: Handler
}

/** A sign-in module with its offers. */
interface Offering {
  readonly name: string
  readonly offers: readonly SignInOffer[]
}

/** The sources of modules: records, agent options, or both. */
export interface ModuleSources {
  readonly rows: readonly SourceRow[]
  readonly agent?: BindOptions
}

/** The options of a module that a record has enabled. */
export function optionsOf(row: SourceRow, name: string): JsonObject | undefined {
  const value = row.body[name] as (JsonObject & { readonly enabled?: boolean }) | null | undefined
  return value === null || value === undefined || value.enabled === false ? undefined : value
}

interface Remembered {
  readonly basis: string
  readonly built: unknown
}

/** Builds the modules of every endpoint, and keeps their state when they are built again. */
export class Modules {
  readonly #parts: ModuleParts
  /** By context, then by module; most contexts have none. */
  readonly #remembered = new Map<string, Map<string, Remembered>>()

  constructor(parts: ModuleParts) {
    this.#parts = parts
  }

  /** Throws a Problem for what cannot be built: no module is ever skipped silently. */
  build({ rows, agent }: ModuleSources, moduleContext: ModuleContext): Attached {
    for (const row of rows) checkUsable(row)
    if (agent !== undefined) checkUnsupported(agent)
    const whole = agent === undefined ? moduleContext : { ...moduleContext, agent }
    const built = order.flatMap(module => {
      if (module === 'sign-in') return this.#signIn({ rows, ...(agent && { agent }) }, moduleContext)
      const ofRecords = rows.flatMap(row => this.#ofRecord(module, row, whole))
      const isJoined = module.joinsAgent === true && ofRecords.length > 0
      return agent === undefined || isJoined
        ? ofRecords
        : [...ofRecords, ...this.#ofAgent(module, agent, moduleContext)]
    })
    return { names: built.flatMap(({ names }) => names), handlers: built.map(({ handler }) => handler) }
  }

  /** The client filter of a TCP or TLS edge, or of an address configuration; throws as `build` does. */
  connectionFilterOf(row: SourceRow): (ip: string) => boolean {
    checkUsable(row)
    const options = optionsOf(row, 'ip_restriction') ?? optionsOf(row, 'ip_policy')
    return options ? this.#parts.records.addressesAllowed(options['ip_policies'] as string[]) : allowAll
  }

  /** The operator's applications have changed. */
  forgetApplications(): void {
    for (const modules of this.#remembered.values()) modules.delete(oauthModule.name)
  }

  /** The route, endpoint configuration or tunnel was removed. */
  forget(contextId: string): void {
    this.#remembered.delete(contextId)
  }

  #ofRecord(module: HttpModule, row: SourceRow, moduleContext: ModuleContext): Built[] {
    const options = optionsOf(row, module.name) ?? (module.alias && optionsOf(row, module.alias))
    if (!options) return []
    const whole = { ...moduleContext, recordId: row.id }
    const build = (): Handler => module.fromRecord(options, whole, this.#parts)
    const { id } = moduleContext
    const handler =
      module.remembers === true ? this.#remember({ id, name: module.name }, options, build) : build()
    return [{ names: [module.name], handler }]
  }

  #ofAgent({ name, fromAgent }: HttpModule, agent: BindOptions, moduleContext: ModuleContext): Built[] {
    if (!fromAgent?.options.some(option => isSet(agent[option]))) return []
    return [{ names: [name], handler: fromAgent.build(agent, moduleContext, this.#parts) }]
  }

  /** One handler for all sign-in modules of a record, and one for those of the agent. */
  #signIn({ rows, agent }: ModuleSources, moduleContext: ModuleContext): Built[] {
    const handled = (modules: readonly Offering[], whole: ModuleContext): Built[] => {
      const offers = modules.flatMap(module => module.offers)
      if (offers.length === 0) return []
      return [{ names: modules.map(({ name }) => name), handler: this.#parts.signIn.handler(offers, whole) }]
    }
    const ofRecords = rows.flatMap(row => {
      const whole = { ...moduleContext, recordId: row.id }
      return handled(
        signInModules.flatMap(module => this.#offering(module, row, whole)),
        whole,
      )
    })
    const ofAgent = signInModules.flatMap(({ name, fromAgent }) =>
      agent !== undefined && fromAgent && isSet(agent[fromAgent.option])
        ? { name, offers: [fromAgent.build(agent, this.#parts)] }
        : [],
    )
    return [...ofRecords, ...handled(ofAgent, moduleContext)]
  }

  /** It keeps the provider's keys and metadata when another part of the endpoint changes. */
  #offering(module: SignInModule, row: SourceRow, moduleContext: ModuleContext): Offering[] {
    const { name } = module
    const options = optionsOf(row, name)
    if (options === undefined) return []
    const build = (): Offering['offers'] => module.fromRecord(options, moduleContext, this.#parts)
    return [{ name, offers: this.#remember({ id: moduleContext.id, name }, options, build) }]
  }

  #remember<T>(
    { id, name }: { readonly id: string; readonly name: string },
    options: JsonObject,
    build: () => T,
  ): T {
    const basis = JSON.stringify(options)
    const before = this.#remembered.get(id)?.get(name)
    const built = before?.basis === basis ? (before.built as T) : build()
    const modules = this.#remembered.get(id) ?? new Map<string, Remembered>()
    this.#remembered.set(id, modules.set(name, { basis, built }))
    return built
  }
}

/** Whether an agent set an option: absent ones arrive as one of these. */
export const isSet = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== '' && value !== false && value !== 0

function checkUsable(row: SourceRow): void {
  if (!row.readable) fail('secrets_closed', { id: row.id })
  const unknown = Object.keys(kindNamed(row.kind).modules).find(
    name => !known.has(name) && optionsOf(row, name) !== undefined,
  )
  if (unknown !== undefined)
    fail('module_unusable', { module: unknown, reason: 'this server does not have it' })
}

function checkUnsupported(agent: BindOptions): void {
  const option = unsupportedOptions.find(name => isSet(agent[name]))
  if (option !== undefined) fail('bind_option', { option, reason: 'this server does not have it' })
}

/** The client filter of an agent's TCP or TLS tunnel; a Problem if it requests more than that. */
export function connectionFilter(agent: BindOptions): (ip: string) => boolean {
  checkUnsupported(agent)
  return agent.IPRestriction ? addressesOf(agent.IPRestriction) : allowAll
}
