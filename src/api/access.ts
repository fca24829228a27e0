import type { RowCache } from '#api/change-watch.ts'
import type { Principal } from '#api/call.ts'
import { AGENT_TOKENS, API_TOKENS } from '#api/behaviours/credentials.ts'
import { filterFor, restrictionOn } from '#api/restrictions.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { sameText, tokenHash } from '#base/secrets.ts'
import type { Row, Store } from '#store/store.ts'

/** Maximum cached callers. */
const MAX_REMEMBERED = 10_000
const TOKEN = /^[\x21-\x7e]{1,512}$/

/** Whether a request from this address is allowed, and if not, whether it is rejected or only logged. */
type AddressVerdict = 'allowed' | 'refused' | 'warned'
type AddressCheck = (ip: string) => AddressVerdict

/** API keys, and browsers; the types of IP restrictions. */
type RestrictedUse = 'api' | 'dashboard'

/** Kinds that determine the owner of a token, and the allowed addresses. */
const PRINCIPAL_KINDS = ['api_key', 'user', 'bot_user', 'service_user']
/** Not `ip_policy`: only its rules have addresses. */
const ADDRESS_KINDS = ['ip_restriction', 'ip_policy_rule']

/** Kinds whose changes may change what a caller is allowed. */
export const ACCESS_KINDS: readonly string[] = [...PRINCIPAL_KINDS, ...ADDRESS_KINDS]

/** Authenticates and authorizes callers. */
export class Access implements RowCache {
  readonly #store: Store
  readonly #log: Log
  readonly #principals = new Map<string, Principal>()
  /** Requests that come at once share a read; later ones need none. */
  readonly #addresses = new Map<RestrictedUse, AddressCheck | Promise<AddressCheck>>()
  #generation = 0

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
  }

  invalidate(kind: string | undefined): void {
    if (kind === undefined || PRINCIPAL_KINDS.includes(kind)) this.#principals.clear()
    else if (!ADDRESS_KINDS.includes(kind)) return
    this.#addresses.clear()
    this.#generation++
  }

  /** The caller of an Authorization header, allowed from `ip`. Not a promise if nothing has to be read. */
  admit(header: string | undefined, ip: string): Principal | Promise<Principal> {
    const principal = this.#principals.get(header ?? '')
    const check = this.#addresses.get('api')
    if (principal === undefined || typeof check !== 'function') return this.#readAndAdmit(header, ip)
    this.#apply('api', check, ip)
    return principal
  }

  async #readAndAdmit(header: string | undefined, ip: string): Promise<Principal> {
    const principal = this.#principals.get(header ?? '') ?? (await this.#recognise(header))
    await this.requireAddress('api', ip)
    return principal
  }

  /** Rejects a client whose address an enforced restriction does not allow. */
  async requireAddress(use: RestrictedUse, ip: string): Promise<void> {
    this.#apply(use, await (this.#addresses.get(use) ?? this.#loadAddresses(use)), ip)
  }

  #apply(use: RestrictedUse, check: AddressCheck, ip: string): void {
    const verdict = check(ip)
    if (verdict === 'refused') fail(use === 'api' ? 'ip_not_allowed' : 'dashboard_ip_not_allowed', { ip })
    if (verdict === 'warned') this.#log.warn({ ip, use }, 'call from an address that no rule allows')
  }

  async #recognise(header: string | undefined): Promise<Principal> {
    const generation = this.#generation
    const token = readToken(header)
    const hash = tokenHash(token)
    const key = await this.#store.holder({ namespace: API_TOKENS, value: hash })
    if (!key || !sameText(hash, tokenHashOf(key))) return this.#refuse(token, hash)
    const owner = key.parent === null ? undefined : await this.#store.get(key.parent)
    if (!owner) return fail('unknown_token')
    const principal = principalOf(owner, key.id)
    if (generation === this.#generation && header !== undefined) this.#remember(header, principal)
    return principal
  }

  #remember(header: string, principal: Principal): void {
    if (this.#principals.size >= MAX_REMEMBERED) this.#principals.clear()
    this.#principals.set(header, principal)
  }

  /** Distinguishes the most common mistakes, without helping anyone to guess. */
  async #refuse(token: string, hash: string): Promise<never> {
    if (isId(token) && token.startsWith('ak_')) fail('key_id_given')
    const credential = await this.#store.holder({ namespace: AGENT_TOKENS, value: hash })
    return fail(credential ? 'authtoken_given' : 'unknown_token')
  }

  #loadAddresses(use: RestrictedUse): Promise<AddressCheck> {
    const reading = this.#readAddresses(use)
    this.#addresses.set(use, reading)
    const isCurrent = () => this.#addresses.get(use) === reading
    reading.then(
      check => isCurrent() && this.#addresses.set(use, check),
      // The next request tries again.
      () => isCurrent() && this.#addresses.delete(use),
    )
    return reading
  }

  async #readAddresses(use: RestrictedUse): Promise<AddressCheck> {
    const reader = { store: this.#store }
    const restriction = await restrictionOn(use, reader)
    if (!restriction) return () => 'allowed'
    const allows = await filterFor(restriction, reader)
    const otherwise = restriction.enforced ? 'refused' : 'warned'
    return ip => (allows(ip) ? 'allowed' : otherwise)
  }
}

const tokenHashOf = (key: Row): string => (JSON.parse(key.body) as { token_hash: string }).token_hash

function readToken(header: string | undefined): string {
  if (header === undefined || header === '') return fail('no_authorization')
  const match = /^Bearer +(.*)$/i.exec(header)
  if (!match) return fail('bad_authorization')
  const token = match[1] ?? ''
  return TOKEN.test(token) ? token : fail('bad_token')
}

function principalOf(owner: Row, keyId: string): Principal {
  const body = JSON.parse(owner.body) as {
    name: string
    email?: string
    role?: 'admin' | 'member'
    active: boolean
  }
  if (!body.active) fail('owner_inactive', { owner: owner.id })
  return { id: owner.id, role: body.role ?? 'member', subject: body.email ?? body.name, keyId }
}
