const LONGEST_MS = 12 * 3_600_000
/** People who have just set a record look at the status, and asking DNS costs little. */
const LONGEST_DNS_MS = 15 * 60_000

/** How long to wait after so many failures: full jitter, so that many names do not come back at the same moment. */
export function waitAfter(
  { failures, error, shortest }: { failures: number; error: 'dns' | 'internal'; shortest: number },
  random: () => number,
): number {
  const longest = error === 'dns' ? LONGEST_DNS_MS : LONGEST_MS
  const ceiling = Math.min(longest, shortest * 2 ** Math.min(failures, 30))
  return Math.max(shortest, random() * ceiling)
}

/** After what no waiting of minutes will change. */
export const waitLong = (random: () => number): number => LONGEST_MS / 2 + (random() * LONGEST_MS) / 2
