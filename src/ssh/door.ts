import type { AuthContext, Connection as SshClient, PublicKeyAuthContext } from 'ssh2'
import type { Log } from '#base/log.ts'
import { type Identity, judge, type KeyRing, type Outcome } from '#ssh/sign-in.ts'

export interface DoorOptions {
  readonly client: SshClient
  readonly ip: string
  readonly ring: KeyRing
  readonly log: Log
  /** As OpenSSH's MaxAuthTries. */
  readonly maxFailures: number
  /** Called once, with what the last attempt has proven. */
  readonly onSignIn: (identity: Identity) => void
}

/** Keys that would do may be asked about without end in OpenSSH; here too many questions are a failure. */
const MAX_QUESTIONS = 20
const MAX_USER_BYTES = 255

/** The names of RSA algorithms by the hash that ssh2 read from them. */
const RSA_NAMES: Readonly<Record<string, string | undefined>> = {
  sha256: 'rsa-sha2-256',
  sha512: 'rsa-sha2-512',
}

/** Lets one connection sign in. Nothing is known about who it is until an attempt has been proven. */
export class Door {
  readonly #options: DoorOptions
  #failures = 0
  #questions = 0
  #identity: Identity | undefined

  constructor(options: DoorOptions) {
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
    // Every client starts with "none" to learn what is possible.
    if (attempt.method === 'none') attempt.reject(['publickey'])
    else if (attempt.method !== 'publickey') this.#refuse(attempt, 'method')
    else this.#onKey(attempt)
  }

  #onKey(attempt: PublicKeyAuthContext): void {
    const outcome = this.#judge(attempt)
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
    // RFC 4252 section 7: the response names the offered algorithm, and Dropbear signs with what it reads there;
    // ssh2 would say ssh-rsa, which means SHA-1.
    if (attempt.hashAlgo) attempt.key.algo = RSA_NAMES[attempt.hashAlgo] ?? attempt.key.algo
    // Without a signature this says only that the key would do.
    attempt.accept()
  }

  #judge({ username, key, signature, blob, hashAlgo }: PublicKeyAuthContext): Outcome {
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
    log.debug({ ip, reason }, 'an ssh sign-in was refused')
    if (this.#failures < maxFailures) attempt.reject(['publickey'])
    else client.end()
  }
}
