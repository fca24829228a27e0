const REMEMBERED = 256

const moments: number[] = Array.from({ length: REMEMBERED }, () => -1)
const texts: string[] = Array.from({ length: REMEMBERED }, () => '')

/** Milliseconds since 1970 as RFC 3339. Times of events are close together, and many are equal. */
export function rfc3339(ms: number): string {
  const whole = Math.floor(ms)
  const slot = whole % REMEMBERED
  if (moments[slot] !== whole) {
    moments[slot] = whole
    texts[slot] = new Date(whole).toISOString()
  }
  return texts[slot] ?? ''
}
