/** Speed and patience of an issuer. */
export interface AcmeTimings {
  /** Concurrent orders. */
  readonly parallel: number
  /** A process that has not written for so long has lost its order to the others. */
  readonly leaseMs: number
  /** The first poll delay. */
  readonly pollMs: number
  /** A slow order is put aside after this, and checked again later. */
  readonly patienceMs: number
  /** Until every gateway has read a new challenge. */
  readonly settleMs: number
  /** The minimum delay after a failure. */
  readonly retryMs: number
  /** Interval of DNS and renewal checks for a served certificate. */
  readonly checkMs: number
}

export const defaultAcmeTimings: AcmeTimings = {
  parallel: 20,
  leaseMs: 60_000,
  pollMs: 1000,
  patienceMs: 60_000,
  // Gateways on other machines poll the store every two seconds.
  settleMs: 3000,
  retryMs: 60_000,
  checkMs: 86_400_000,
}
