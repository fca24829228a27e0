import { memoryPart } from '#base/memory.ts'
import { Penalties } from '#base/penalties.ts'
import { ReplayGuard } from '#auth/saml/replay-guard.ts'
import { CompressionBudget } from '#http/compression/compression-budget.ts'
import { MemoryBudget } from '#webhooks/memory-budget.ts'

/** The state that modules of all endpoints of a gateway share; it outlives their configuration. */
export class ModuleState {
  /** Ten wrong passwords in a row may be a mistake; after that one attempt every two seconds is allowed. */
  readonly passwordGuesses = new Penalties({ threshold: 18_000, most: 60_000, sources: 16_384 }, () =>
    performance.now(),
  )
  /** Enough for more of the largest bodies at once than any sender has; small ones fit by the thousand. */
  readonly webhookBodies = new MemoryBudget(memoryPart(1 / 8, { least: 64, most: 256 }))
  readonly compression = new CompressionBudget()
  /** The SAML handoff tokens that were used. */
  readonly usedHandoffTokens = new ReplayGuard()
}
