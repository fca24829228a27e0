import type { TunnelRecord } from '#gateway/directory.ts'
import type { TunnelIndex } from '#gateway/plan/tunnel-index.ts'

// How long a tunnel that could not be reached is passed over.
const PENALTY_MS = 5000

/** Takes turns among the tunnels with all labels of a group. */
export class TunnelGroup {
  readonly #index: TunnelIndex
  readonly #labels: Readonly<Record<string, string>>
  readonly #failed = new Map<string, number>()
  #members: readonly TunnelRecord[] = []
  #generation = -1
  #turn = 0
  #failures = 0

  constructor(index: TunnelIndex, labels: Readonly<Record<string, string>>) {
    this.#index = index
    this.#labels = labels
  }

  /** All members in the order in which they are to be tried; those that just failed come last. */
  candidates(now = performance.now()): readonly TunnelRecord[] {
    const members = this.#current()
    if (members.length < 2) return members
    const start = this.#turn++ % members.length
    const rotated = [...members.slice(start), ...members.slice(0, start)]
    if (this.#failed.size === 0) return rotated
    const [up, down] = [false, true].map(state =>
      rotated.filter(tunnel => this.isDown(tunnel, now) === state),
    )
    return [...(up ?? []), ...(down ?? [])]
  }

  /** How often a member could not be reached. */
  get failures(): number {
    return this.#failures
  }

  isDown({ id }: TunnelRecord, now = performance.now()): boolean {
    return now - (this.#failed.get(id) ?? -Infinity) < PENALTY_MS
  }

  failed({ id }: TunnelRecord): void {
    this.#failures++
    this.#failed.set(id, performance.now())
  }

  worked({ id }: TunnelRecord): void {
    if (this.#failed.size > 0) this.#failed.delete(id)
  }

  #current(): readonly TunnelRecord[] {
    if (this.#generation === this.#index.generation) return this.#members
    this.#generation = this.#index.generation
    this.#members = this.#index.withLabels(this.#labels)
    const ids = new Set(this.#members.map(({ id }) => id))
    for (const id of this.#failed.keys()) if (!ids.has(id)) this.#failed.delete(id)
    return this.#members
  }
}
