import { setTimeout } from 'node:timers/promises'

/** Waits; false when `signal` ended the wait. */
export async function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await setTimeout(ms, undefined, { signal })
    return true
  } catch {
    return false
  }
}
