import { Penalties, type PenaltyLimits } from '#base/penalties.ts'

export interface SshPenaltyLimits extends PenaltyLimits {
  /** Milliseconds for a connection whose attempts all failed. */
  readonly refused: number
  /** For a sign-in timeout. */
  readonly late: number
  /** For a disconnect without an attempt: its key exchange was wasted. */
  readonly unused: number
}

export const DEFAULT_PENALTIES: SshPenaltyLimits = {
  refused: 5_000,
  late: 10_000,
  unused: 1_000,
  threshold: 15_000,
  most: 600_000,
  sources: 16_384,
}

const GROUP = 'ssh'

/** Penalties of ssh client addresses. */
export class SshPenalties {
  readonly #limits: SshPenaltyLimits
  readonly #penalties: Penalties

  constructor(limits: SshPenaltyLimits, now: () => number) {
    this.#limits = limits
    this.#penalties = new Penalties(limits, now)
  }

  add(source: string, reason: 'refused' | 'late' | 'unused'): void {
    this.#penalties.add(GROUP, source, this.#limits[reason])
  }

  /** Resets the count after a successful login. */
  forgive(source: string): void {
    this.#penalties.forgive(GROUP, source)
  }

  mayConnect(source: string): boolean {
    return this.#penalties.waitOf(GROUP, source) === 0
  }
}
