import type { AuthContext, Connection as SshClient, PublicKeyAuthContext } from 'ssh2'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { type AuthOutcome, judge, type KeyRing, mayBeOutdated, type SshIdentity } from '#ssh/sign-in.ts'

interface SshAuthenticatorOptions {
  readonly client: SshClient
  readonly ip: string
  readonly ring: KeyRing
  readonly log: Log
  /** As OpenSSH's MaxAuthTries. */
  readonly maxFailures: number
  /** Called once, with the result of the last attempt. */
  readonly onSignIn: (identity: SshIdentity) => void
}

/** OpenSSH allows unlimited key queries; here too many are a failure. */
const MAX_QUESTIONS = 20
const MAX_USER_BYTES = 255

/** RSA algorithm names by the hash that ssh2 parsed from them. */
const RSA_NAMES: Readonly<Record<string, string | undefined>> = {
  sha256: 'rsa-sha2-256',
  sha512: 'rsa-sha2-512',
}

/** Authenticates one connection. Nothing is trusted until an attempt is proven. */
export class SshAuthenticator {
  readonly #options: SshAuthenticatorOptions
  #failures = 0
  #questions = 0
  // Since the client connected. Once is enough: keys and authorities created before that are then known.
  #isRefreshed = false
  #identity: SshIdentity | undefined

  constructor(options: SshAuthenticatorOptions) {
    this.#options = options
    const { client } = options
    client.on('authentication', attempt => this.#onAttempt(attempt))
    client.once('ready', () => {
      if (this.#identity === undefined) client.end()
      else options.onSignIn(this.#identity)
    })
  }

  get failures(): number {
    return this.#failures
  }

  #onAttempt(attempt: AuthContext): void {
    // Every client starts with "none" to learn the methods.
    if (attempt.method === 'none') attempt.reject(['publickey'])
    else if (attempt.method !== 'publickey') this.#refuse(attempt, 'method')
    else this.#onKey(attempt)
  }

  #onKey(attempt: PublicKeyAuthContext): void {
    const outcome = this.#judge(attempt)
    if (this.#isRefreshed || !mayBeOutdated(outcome)) this.#respond(attempt, outcome)
    else void inBackground({ task: 'ssh', log: this.#options.log }, () => this.#judgeAgain(attempt))
  }

  async #judgeAgain(attempt: PublicKeyAuthContext): Promise<void> {
    this.#isRefreshed = true
    // A client that leaves meanwhile has failed, too.
    this.#failures++
    await this.#options.ring.refresh()
    this.#failures--
    this.#respond(attempt, this.#judge(attempt))
  }

  #respond(attempt: PublicKeyAuthContext, outcome: AuthOutcome): void {
    if ('refused' in outcome) {
      this.#refuse(attempt, outcome.refused)
      return
    }
    if (outcome.proven) {
      this.#identity = outcome.identity
    } else if (++this.#questions > MAX_QUESTIONS) {
      this.#refuse(attempt, 'too_many_questions')
      return
    }
    // RFC 4252 section 7: the response names the offered algorithm, and Dropbear signs with that; ssh2 would send
    // ssh-rsa, which means SHA-1.
    if (attempt.hashAlgo) attempt.key.algo = RSA_NAMES[attempt.hashAlgo] ?? attempt.key.algo
    // Without a signature this only reports that the key is acceptable.
    attempt.accept()
  }

  #judge({ username, key, signature, blob, hashAlgo }: PublicKeyAuthContext): AuthOutcome {
    const { ip, ring, log } = this.#options
    if (Buffer.byteLength(username) > MAX_USER_BYTES) return { refused: 'user_name_too_long' }
    if ((signature === undefined) !== (blob === undefined)) return { refused: 'bad_signature' }
    const proof = signature && blob ? { data: blob, signature, hash: hashAlgo } : undefined
    try {
      return judge({ user: username, ip, algorithm: key.algo, key: key.data, proof }, ring)
    } catch (error) {
      log.error({ error, ip }, 'an ssh sign-in could not be checked')
      return { refused: 'fault' }
    }
  }

  #refuse(attempt: AuthContext, reason: string): void {
    const { client, ip, log, maxFailures } = this.#options
    this.#failures++
    log.debug({ ip, reason }, 'ssh sign-in rejected')
    if (this.#failures < maxFailures) attempt.reject(['publickey'])
    else client.end()
  }
}
