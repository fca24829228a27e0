import { type AddressJudge, addressJudge, type Rule } from '#base/address-filter.ts'
import { textOf } from '#registry/records/keys.ts'
import type { RowIndex } from '#registry/records/row-index.ts'
import type { ipPolicyRule } from '#contract/kinds/ip-policy-rule.ts'
import type { ipRestriction } from '#contract/kinds/ip-restriction.ts'
import type { RowOf, SourceRow } from '#registry/records/source.ts'

/** The address filter of one type of traffic. */
export interface Restriction {
  readonly id: string
  /** False: violations are only logged. */
  readonly enforced: boolean
  readonly allows: (ip: string) => boolean
}

export type Restricted = 'agent' | 'endpoints'

/** IP policy filters, built on first use after a change. */
export class Restrictions {
  readonly #byType: RowIndex<RowOf<typeof ipRestriction>>
  readonly #rulesByPolicy: RowIndex<RowOf<typeof ipPolicyRule>>
  readonly #built = new Map<Restricted, Restriction | undefined>()
  readonly #judges = new Map<string, AddressJudge>()

  constructor(
    byType: RowIndex<RowOf<typeof ipRestriction>>,
    rulesByPolicy: RowIndex<RowOf<typeof ipPolicyRule>>,
  ) {
    this.#byType = byType
    this.#rulesByPolicy = rulesByPolicy
  }

  /** A restriction, a policy or a rule has changed. */
  changed(row: SourceRow): void {
    if (row.kind === 'ip_restriction') this.#built.clear()
    else this.#judges.delete(row.kind === 'ip_policy' ? row.id : String(row.body['ip_policy']))
  }

  of(type: Restricted): Restriction | undefined {
    if (!this.#built.has(type)) this.#built.set(type, this.#build(this.#byType.one(type)))
    return this.#built.get(type)
  }

  /** Allows addresses that match an allow rule and no deny rule of any policy; it follows changes. */
  allowedBy(policies: readonly string[]): (ip: string) => boolean {
    // Throws now, where an endpoint is built, if a damaged row has something else here.
    const ids = [...policies]
    return ip => {
      let isAllowed = false
      for (const policy of ids) {
        const verdict = this.#judge(policy)(ip)
        if (verdict === 'deny') return false
        isAllowed ||= verdict === 'allow'
      }
      return isAllowed
    }
  }

  #judge(policy: string): AddressJudge {
    const known = this.#judges.get(policy)
    if (known !== undefined) return known
    const rules = this.#rulesByPolicy.all(policy)
    const judge = addressJudge(
      rules.map(row => ({ ...(row.body as unknown as Rule), cidr: textOf(row, 'cidr') })),
    )
    this.#judges.set(policy, judge)
    return judge
  }

  #build(row: RowOf<typeof ipRestriction> | undefined): Restriction | undefined {
    if (row === undefined) return undefined
    const { ip_policies: policies, enforced } = row.body
    // No address is allowed by policies that cannot be read.
    const readable = Array.isArray(policies) ? policies : []
    return { id: row.id, enforced: enforced === true, allows: this.allowedBy(readable) }
  }
}
