import { clientNetwork } from '#base/client-network.ts'
import { fail } from '#base/errors.ts'
import { Penalties } from '#base/penalties.ts'
import { tokenHash } from '#base/secrets.ts'

const MINUTE_MS = 60_000
const BLOCK_MS = 15 * MINUTE_MS
/** Reached by the fifth failure within three minutes: penalties decay in between. */
const THRESHOLD_MS = 0.81 * BLOCK_MS

/**
 * Wrong passwords until a block: 5 for one account from one network, about 16 from one network, 40 for one account. The
 * last is high, so that a guesser elsewhere rarely blocks the owner of an account.
 */
const costs = { pair: BLOCK_MS / 5, network: BLOCK_MS / 20, account: BLOCK_MS / 50 } as const

/** Slows down guessing of passwords. */
export class PasswordAttempts {
  readonly #penalties: Penalties

  constructor(now: () => number) {
    this.#penalties = new Penalties({ threshold: THRESHOLD_MS, most: BLOCK_MS, sources: 20_000 }, now)
  }

  /** Rejects an attempt while its account or address is blocked. */
  require(email: string, ip: string): void {
    const waits = keysOf(email, ip).map(([group, source]) => this.#penalties.waitOf(group, source))
    const wait = Math.max(...waits)
    if (wait > 0) fail('sign_in_blocked', { retryAfter: Math.ceil(wait / 1000) })
  }

  failed(email: string, ip: string): void {
    for (const [group, source] of keysOf(email, ip)) this.#penalties.add(group, source, costs[group])
  }

  succeeded(email: string, ip: string): void {
    for (const [group, source] of keysOf(email, ip))
      if (group === 'pair') this.#penalties.forgive(group, source)
  }
}

/** Hashed: what is typed as an address may be long, or a password. */
function keysOf(email: string, ip: string): [keyof typeof costs, string][] {
  const network = clientNetwork(ip)
  const account = tokenHash(email)
  return [
    ['pair', `${account} ${network}`],
    ['network', network],
    ['account', account],
  ]
}
