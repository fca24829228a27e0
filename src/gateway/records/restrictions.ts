import { addressFilter, type Rule } from '#base/addresses.ts'
import type { Lookup } from '#gateway/records/lookup.ts'
import type { SourceRow } from '#gateway/records/source.ts'

/** Who may use one kind of traffic. */
export interface Restriction {
  readonly id: string
  /** False: violations are only logged. */
  readonly enforced: boolean
  readonly allows: (ip: string) => boolean
}

export type Restricted = 'agent' | 'endpoints'

/** The restrictions on traffic, built when they are first asked for after a change. */
export class Restrictions {
  readonly #byType: Lookup
  readonly #rulesByPolicy: Lookup
  readonly #built = new Map<Restricted, Restriction | undefined>()

  constructor(byType: Lookup, rulesByPolicy: Lookup) {
    this.#byType = byType
    this.#rulesByPolicy = rulesByPolicy
  }

  /** A restriction, a policy or a rule has changed. */
  forget(): void {
    this.#built.clear()
  }

  of(type: Restricted): Restriction | undefined {
    if (!this.#built.has(type)) this.#built.set(type, this.#build(this.#byType.one(type)))
    return this.#built.get(type)
  }

  #build(row: SourceRow | undefined): Restriction | undefined {
    if (row === undefined) return undefined
    const policies = (row.body['ip_policies'] as readonly string[] | null) ?? []
    const rules = policies.flatMap(policy => this.#rulesByPolicy.all(policy))
    const allows = addressFilter(rules.map(({ body }) => body as unknown as Rule))
    return { id: row.id, enforced: row.body['enforced'] === true, allows }
  }
}
