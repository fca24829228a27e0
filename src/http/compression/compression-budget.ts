import { memoryPart } from '#base/memory.ts'
import { type Party, SharedBudget } from '#base/shared-budget.ts'
import type { Coding } from '#http/compression/accept-encoding.ts'
import { methods } from '#http/compression/engines.ts'

/** The memory of all compression engines of a gateway; beyond it responses are sent uncompressed. */
export class CompressionBudget {
  readonly #memory = new SharedBudget(memoryPart(1 / 8, { least: 32, most: 512 }))
  #open = 0

  /** How many bodies are being compressed. */
  get open(): number {
    return this.#open
  }

  allows(party: Party, coding: Coding): boolean {
    return this.#memory.allows(party, methods[coding].bytes)
  }

  /** An engine was created. */
  charge(party: Party, coding: Coding): void {
    this.#open++
    this.#memory.charge(party, methods[coding].bytes)
  }

  /** An engine was destroyed. */
  release(party: Party, coding: Coding): void {
    this.#open--
    this.#memory.release(party, methods[coding].bytes)
  }
}
