/** How long a visitor's connection may take for what, and how much of it. */
export interface VisitorLimits {
  /** From the first byte of a head to its last; also from the connection to the first byte. */
  readonly headMs: number
  /** Without a byte of content, while somebody wants it. */
  readonly bodyIdleMs: number
  /** Without the visitor taking a byte of what waits for it. */
  readonly writeStallMs: number
  readonly keepAliveMs: number
  /** For content that nobody wants, after the answer. */
  readonly lingerMs: number
  /** Without a byte of the answer, after the visitor has ended its side: most that do have gone altogether. */
  readonly halfClosedMs: number
  /** For a request that may be on its way to an idle connection when the gateway stops. */
  readonly drainMs: number
  readonly maxRequests: number
  /** Content that nobody wants, read so that the connection can be used again. */
  readonly unwantedBytes: number
  /** Bytes of further requests that are read while one is running. */
  readonly waitingBytes: number
}

export const visitorLimits: VisitorLimits = {
  headMs: 10_000,
  bodyIdleMs: 30_000,
  writeStallMs: 60_000,
  keepAliveMs: 75_000,
  lingerMs: 5_000,
  halfClosedMs: 30_000,
  drainMs: 1000,
  maxRequests: 1000,
  unwantedBytes: 65_536,
  waitingBytes: 65_536,
}
