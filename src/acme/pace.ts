/** How fast and how patient an issuer is. */
export interface Pace {
  /** Orders that are worked on at a time. */
  readonly parallel: number
  /** A process that has not written for so long has lost its order to the others. */
  readonly leaseMs: number
  /** The first wait between two questions about the same thing. */
  readonly pollMs: number
  /** A slow order is put aside after this, and looked at again later. */
  readonly patienceMs: number
  /** Until every gateway has read a new challenge. */
  readonly settleMs: number
  /** The shortest wait after a failure. */
  readonly retryMs: number
  /** Between two looks at the DNS and the authority's wishes for a certificate that serves. */
  readonly checkMs: number
}

export const usualPace: Pace = {
  parallel: 20,
  leaseMs: 60_000,
  pollMs: 1000,
  patienceMs: 60_000,
  // Gateways on other machines ask the store every two seconds.
  settleMs: 3000,
  retryMs: 60_000,
  checkMs: 86_400_000,
}
