const REMEMBERED = 64

const seconds: number[] = Array.from({ length: REMEMBERED }, () => -1)
const beginnings: string[] = Array.from({ length: REMEMBERED }, () => '')

/** Milliseconds since 1970 as RFC 3339. The moments of one event share their second, and so do many events. */
export function momentText(ms: number): string {
  const whole = Math.floor(ms)
  const second = Math.floor(whole / 1000)
  const slot = second % REMEMBERED
  if (seconds[slot] !== second) {
    seconds[slot] = second
    beginnings[slot] = new Date(second * 1000).toISOString().slice(0, 20)
  }
  const rest = whole - second * 1000
  return `${beginnings[slot] ?? ''}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`
}

/** A moment by `performance.now` as milliseconds since 1970. */
export const wallTime = (moment: number): number => performance.timeOrigin + moment
