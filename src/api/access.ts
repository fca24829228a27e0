import type { Principal } from '#api/call.ts'
import { AGENT_TOKENS, API_TOKENS } from '#api/behaviours/credentials.ts'
import { filterFor, restrictionOn } from '#api/restrictions.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { sameText, tokenHash } from '#base/secrets.ts'
import type { Row, Store } from '#store/store.ts'

/** Answers remembered at most, so that wrong tokens cannot fill memory. */
const MAX_REMEMBERED = 10_000
const TOKEN = /^[\x21-\x7e]{1,512}$/

/** Is a call from this address allowed, and if not, is it refused or only logged? */
type Verdict = 'allowed' | 'refused' | 'warned'

/**
 * Says who calls and whether they may. What it learns is remembered for one revision of the store only, so a
 * change made anywhere acts on the next call.
 */
export class Access {
  readonly #store: Store
  readonly #log: Log
  #revision = -1
  readonly #principals = new Map<string, Principal>()
  #addresses: ((ip: string) => Verdict) | undefined

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** The caller behind an Authorization header, allowed to call from `ip`. */
  async admit(header: string | undefined, ip: string): Promise<Principal> {
    const token = readToken(header)
    await this.#forgetIfChanged()
    const principal = this.#principals.get(token) ?? (await this.#recognise(token))
    const verdict = (this.#addresses ??= await this.#loadAddresses())(ip)
    if (verdict === 'refused') fail('ip_not_allowed', { ip })
    if (verdict === 'warned')
      this.#log.warn({ ip, key: principal.keyId }, 'call from an address that no rule allows')
    return principal
  }

  async #forgetIfChanged(): Promise<void> {
    const revision = await this.#store.revision()
    if (revision === this.#revision && this.#principals.size < MAX_REMEMBERED) return
    this.#revision = revision
    this.#principals.clear()
    this.#addresses = undefined
  }

  async #recognise(token: string): Promise<Principal> {
    const hash = tokenHash(token)
    const key = await this.#store.holder({ namespace: API_TOKENS, value: hash })
    if (!key || !sameText(hash, tokenHashOf(key))) return this.#refuse(token, hash)
    const owner = key.parent === null ? undefined : await this.#store.get(key.parent)
    if (!owner) return fail('unknown_token')
    const principal = principalOf(owner, key.id)
    this.#principals.set(token, principal)
    return principal
  }

  /** Tells apart the mistakes that are made most, without helping anybody to guess. */
  async #refuse(token: string, hash: string): Promise<never> {
    if (isId(token) && token.startsWith('ak_')) fail('key_id_given')
    const credential = await this.#store.holder({ namespace: AGENT_TOKENS, value: hash })
    return fail(credential ? 'authtoken_given' : 'unknown_token')
  }

  async #loadAddresses(): Promise<(ip: string) => Verdict> {
    const reader = { store: this.#store }
    const restriction = await restrictionOn('api', reader)
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
