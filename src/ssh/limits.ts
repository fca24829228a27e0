import type { SshConnectionLimits } from '#ssh/connection.ts'
import { DEFAULT_PENALTIES, type SshPenaltyLimits } from '#ssh/penalties.ts'
import { DEFAULT_STARTUPS, type StartupLimits } from '#ssh/startups.ts'

/** Times are in milliseconds. */
export interface SshLimits extends SshConnectionLimits {
  readonly startups: StartupLimits
  readonly penalties: SshPenaltyLimits
  /** From the first byte to the completed sign-in. */
  readonly graceTime: number
  readonly maxFailures: number
  /** Key re-exchanges that a client may start before sign-in, and in ten seconds afterwards. */
  readonly rekeys: { readonly before: number; readonly after: number }
  readonly keepaliveInterval: number
  /** Unanswered keep-alives; a dead peer is detected one interval after the last of them. */
  readonly keepaliveMisses: number
  /** How long closing waits for clients to disconnect. */
  readonly closeWait: number
}

export const DEFAULT_SSH_LIMITS: SshLimits = {
  startups: DEFAULT_STARTUPS,
  penalties: DEFAULT_PENALTIES,
  graceTime: 30_000,
  maxFailures: 6,
  rekeys: { before: 2, after: 50 },
  keepaliveInterval: 5_000,
  keepaliveMisses: 2,
  closeWait: 3_000,
  channels: 512,
  openTimeout: 30_000,
  sessions: 8,
  commandWait: 1_000,
  forwardWait: 300,
  idleWait: 10_000,
  leaveWait: 1_000,
  probeTimeout: 5_000,
}
