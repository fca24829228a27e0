import { fail } from '#base/errors.ts'
import { kindNamed } from '#contract/kinds/index.ts'
import type { Handler } from '#http/exchange.ts'
import { basicAuthModule } from '#gateway/modules/basic-auth.ts'
import { circuitBreakerModule } from '#gateway/modules/circuit-breaker.ts'
import { compressionModule } from '#gateway/modules/compression.ts'
import { requestHeadersModule, responseHeadersModule } from '#gateway/modules/headers.ts'
import { addressesOf, ipRestrictionModule } from '#gateway/modules/ip-restriction.ts'
import type { HttpModule, ModuleParts } from '#gateway/modules/module.ts'
import type { Place } from '#http/place.ts'
import { mutualTlsModule } from '#gateway/modules/mutual-tls.ts'
import { oauthModule } from '#gateway/modules/oauth.ts'
import { oidcModule } from '#gateway/modules/oidc.ts'
import { samlModule } from '#gateway/modules/saml.ts'
import { userAgentFilterModule } from '#gateway/modules/user-agent-filter.ts'
import { webhookVerificationModule } from '#gateway/modules/webhook-verification.ts'
import { websocketTcpModule } from '#gateway/modules/websocket-tcp-converter.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { JsonObject } from '#base/json-fields.ts'
import type { BindOptions } from '#tunnel/messages.ts'

/** Modules in the order in which a request meets them. */
const order: readonly HttpModule[] = [
  // Before all else: who cannot prove who they are learn nothing.
  mutualTlsModule,
  // Cheap, and it keeps strangers from guessing passwords.
  ipRestrictionModule,
  userAgentFilterModule,
  // Senders of webhooks sign and do not sign in.
  webhookVerificationModule,
  // Signing in comes before all that touches an answer: its own answers leave as they are.
  basicAuthModule,
  oauthModule,
  oidcModule,
  samlModule,
  // Outside of compression, so that what it adds or removes is the last word.
  responseHeadersModule,
  compressionModule,
  // Right above the service: it counts what the service answers, not what other modules refuse.
  circuitBreakerModule,
  // The last one to see a request, so that the others decide by what the visitor sent.
  requestHeadersModule,
  websocketTcpModule,
]

/** Not on the way of requests: they say where traffic goes, and how its connection is made. */
const elsewhere = new Set(['backend', 'tls_termination'])
const known = new Set([...elsewhere, ...order.flatMap(({ name, alias }) => [name, alias ?? name])])
/** Agent options that this gateway does not support. */
const absent: readonly (keyof BindOptions)[] = ['TrafficPolicy', 'Policy']

/** The visitors who are let in where nobody has asked to keep any out. */
export const everybody = (): boolean => true

/** Handlers with their names, in order. */
export interface Attached {
  readonly names: readonly string[]
  readonly handlers: readonly Handler[]
}

type Named = readonly [name: string, handler: Handler]

/** What modules are built from: records, the wishes of an agent, or both. */
export interface Wishes {
  readonly rows: readonly SourceRow[]
  readonly agent?: BindOptions
}

/** The options of a module that a record has switched on. */
export function optionsOf(row: SourceRow, name: string): JsonObject | undefined {
  const value = row.body[name] as (JsonObject & { readonly enabled?: boolean }) | null | undefined
  return value === null || value === undefined || value.enabled === false ? undefined : value
}

/** Builds the modules of every place, and keeps what they remember when the place is built anew. */
export class Modules {
  readonly #parts: ModuleParts
  readonly #remembered = new Map<string, { readonly basis: string; readonly handler: Handler }>()

  constructor(parts: ModuleParts) {
    this.#parts = parts
  }

  /** Throws a Problem for what cannot be built: nothing that was asked for is ever left out without a word. */
  build({ rows, agent }: Wishes, place: Place): Attached {
    for (const row of rows) checkUsable(row)
    if (agent !== undefined) checkAbsent(agent)
    const whole = agent === undefined ? place : { ...place, agent }
    const built = order.flatMap(module => {
      const ofRecords = rows.flatMap(row => this.#ofRecord(module, row, whole))
      const isJoined = module.joinsAgent === true && ofRecords.length > 0
      return agent === undefined || isJoined
        ? ofRecords
        : [...ofRecords, ...this.#ofAgent(module, agent, place)]
    })
    return { names: built.map(([name]) => name), handlers: built.map(([, handler]) => handler) }
  }

  /** Which visitors a TCP or TLS edge, or the configuration of an address, lets in; throws as `build` does. */
  connectionFilterOf(row: SourceRow): (ip: string) => boolean {
    checkUsable(row)
    const options = optionsOf(row, 'ip_restriction') ?? optionsOf(row, 'ip_policy')
    return options ? this.#parts.records.addressesAllowed(options['ip_policies'] as string[]) : everybody
  }

  /** The place is no more. */
  forget(placeId: string): void {
    for (const { name } of order) this.#remembered.delete(`${placeId} ${name}`)
  }

  #ofRecord(module: HttpModule, row: SourceRow, place: Place): Named[] {
    const options = optionsOf(row, module.name) ?? (module.alias && optionsOf(row, module.alias))
    if (!options) return []
    const whole = { ...place, recordId: row.id }
    const build = (): Handler => module.fromRecord(options, whole, this.#parts)
    if (module.remembers !== true) return [[module.name, build()]]
    const key = `${place.id} ${module.name}`
    const basis = JSON.stringify(options)
    const before = this.#remembered.get(key)
    const handler = before?.basis === basis ? before.handler : build()
    this.#remembered.set(key, { basis, handler })
    return [[module.name, handler]]
  }

  #ofAgent({ name, fromAgent }: HttpModule, agent: BindOptions, place: Place): Named[] {
    if (!fromAgent?.options.some(option => isAsked(agent[option]))) return []
    return [[name, fromAgent.build(agent, place, this.#parts)]]
  }
}

/** Whether an agent wants something: what it leaves out has come as one of these. */
export const isAsked = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== '' && value !== false && value !== 0

function checkUsable(row: SourceRow): void {
  if (!row.readable) fail('secrets_closed', { id: row.id })
  const unknown = Object.keys(kindNamed(row.kind).modules).find(
    name => !known.has(name) && optionsOf(row, name) !== undefined,
  )
  if (unknown !== undefined)
    fail('module_unusable', { module: unknown, reason: 'this server does not have it' })
}

function checkAbsent(agent: BindOptions): void {
  const option = absent.find(name => isAsked(agent[name]))
  if (option !== undefined) fail('bind_option', { option, reason: 'this server does not have it' })
}

/** Which visitors an agent lets in on a TCP or TLS tunnel; a Problem where it asks for more than that. */
export function connectionFilter(agent: BindOptions): (ip: string) => boolean {
  checkAbsent(agent)
  return agent.IPRestriction ? addressesOf(agent.IPRestriction) : everybody
}
