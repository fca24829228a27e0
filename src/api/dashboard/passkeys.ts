import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { Call, Deps } from '#api/call.ts'
import {
  findPasskey,
  isUsed,
  newPasskey,
  useChallenge,
  usedPasskey,
  type PasskeyBody,
} from '#api/dashboard/passkey-rows.ts'
import type { Session } from '#api/dashboard/sessions.ts'
import type { BrowserClient, SignIns } from '#api/dashboard/sign-ins.ts'
import {
  checkNewCredential,
  checkResponse,
  checkSignature,
  readPublicKey,
  WebAuthnError,
} from '#api/dashboard/webauthn.ts'
import { eventOf } from '#api/events.ts'
import { childRows } from '#api/records.ts'
import { fail } from '#base/errors.ts'
import type { dashboardCalls } from '#contract/dashboard.ts'
import { passkey } from '#contract/kinds/passkey.ts'
import type { Static } from '#contract/schema.ts'

const CHALLENGE_MS = 5 * 60_000
const MAX_PER_USER = 20

/** Sealed, so that nothing is stored for browsers that only ask. */
interface Challenge {
  readonly nonce: string
  /** The user who adds a passkey; empty for a sign-in. */
  readonly user: string
  readonly until: number
}

type Added = Static<(typeof dashboardCalls)['passkey_add']['input']>
type Asserted = Static<(typeof dashboardCalls)['passkey_login']['input']>

/** The host of an origin at which browsers offer passkeys. */
function passkeyHost(origin: string): string {
  const { hostname, protocol } = new URL(origin)
  const isSecure = protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')
  return isSecure && isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : fail('passkey_host')
}

/** Adds passkeys, and signs in with them. */
export class Passkeys {
  readonly #deps: Deps
  readonly #signIns: SignIns

  constructor(deps: Deps, signIns: SignIns) {
    this.#deps = deps
    this.#signIns = signIns
  }

  /** What a browser needs to make a passkey. */
  async options({ user }: Session, origin: string) {
    const { id, email, name } = user
    const rows = await childRows(passkey.name, id, this.#deps)
    if (rows.length >= MAX_PER_USER) fail('passkey_limit', { limit: MAX_PER_USER })
    return {
      challenge: this.#newChallenge(id),
      host: passkeyHost(origin),
      user: { id, name: email, display_name: name },
      excluded: rows.map(({ body }) => (JSON.parse(body) as PasskeyBody).credential_id),
    }
  }

  async add(given: Added, { user }: Session, origin: string, call: Call): Promise<PasskeyBody> {
    const used = this.#reader(user.id)
    const count = orInvalid(() => {
      checkNewCredential(given.authenticator_data, given.credential_id)
      readPublicKey(given.public_key)
      return checkResponse(given, { type: 'webauthn.create', origin, isChallenge: used.isChallenge })
    })
    const { name, credential_id: credentialId, public_key: key } = given
    const { body, write } = newPasskey(
      {
        owner_id: user.id,
        name,
        host: passkeyHost(origin),
        credential_id: credentialId,
        public_key: key,
        sign_count: String(count),
      },
      this.#deps,
    )
    const event = await eventOf(passkey, { ...body }, 'created', call)
    const outcome = await this.#deps.store.commit([write, used.write(), ...event])
    if (!outcome.ok) fail('passkey_invalid', { reason: 'it was added before' })
    return body
  }

  /** What a browser needs to sign in. */
  challenge(origin: string) {
    return { challenge: this.#newChallenge(''), host: passkeyHost(origin) }
  }

  /** Resolves to the token of a new session. */
  async signIn(given: Asserted, origin: string, client: BrowserClient): Promise<string> {
    const { store } = this.#deps
    const used = this.#reader('')
    const found = await findPasskey(given.credential_id, store)
    const owner = found && (await store.get(found.body.owner_id))
    try {
      if (!found || !owner) throw new WebAuthnError('it is not known here')
      const { user_handle: handle } = given
      if (handle !== undefined && Buffer.from(handle, 'base64url').toString() !== owner.id)
        throw new WebAuthnError('it belongs to another user')
      const count = checkResponse(given, { type: 'webauthn.get', origin, isChallenge: used.isChallenge })
      checkSignature(given, given.signature, found.body.public_key)
      if (await isUsed(used.challenge(), store)) throw new WebAuthnError('the challenge was used before')
      // Authenticators without a counter always report 0.
      const before = Number(found.body.sign_count)
      if ((count > 0 || before > 0) && count <= before)
        throw new WebAuthnError('its counter went back, as that of a copy would')
      const writes = [usedPasskey(found, count, this.#deps), used.write()]
      return await this.#signIns.withPasskey(owner, writes, client)
    } catch (error) {
      if (!(error instanceof WebAuthnError)) throw error
      await this.#signIns.rejected('passkey', error.message, client, owner)
      return fail('passkey_rejected', { reason: error.message })
    }
  }

  #newChallenge(user: string): string {
    const { sealer, now } = this.#deps
    const made: Challenge = { nonce: randomBytes(16).toString('hex'), user, until: now() + CHALLENGE_MS }
    return sealer.seal(JSON.stringify(made), passkey.name)
  }

  /** Recognises the challenge of a response, once it is verified. */
  #reader(user: string) {
    const { sealer, now } = this.#deps
    let seen = { text: '', until: 0 }
    return {
      isChallenge: (text: string): boolean => {
        try {
          const challenge = JSON.parse(sealer.unseal(text, passkey.name)) as Challenge
          seen = { text, until: challenge.until }
          return challenge.user === user && challenge.until > now()
        } catch {
          // Not made here.
          return false
        }
      },
      challenge: () => seen.text,
      write: () => useChallenge(seen.text, seen.until),
    }
  }
}

function orInvalid<Result>(check: () => Result): Result {
  try {
    return check()
  } catch (error) {
    if (error instanceof WebAuthnError) return fail('passkey_invalid', { reason: error.message })
    throw error
  }
}
