import type { Call } from '#api/call.ts'
import { childRows } from '#api/records.ts'
import { addressFilter, type Rule } from '#base/address-filter.ts'
import { fail } from '#base/errors.ts'
import type { Store } from '#store/store.ts'

/** There is at most one restriction for each kind of traffic. */
export const RESTRICTION_TYPES = 'ip_restriction_type'

export interface Restriction {
  readonly id: string
  readonly enforced: boolean
  readonly policies: readonly string[]
}

type Reader = { readonly store: Store }

export async function restrictionOn(type: string, reader: Reader): Promise<Restriction | undefined> {
  const row = await reader.store.holder({ namespace: RESTRICTION_TYPES, value: type })
  if (!row) return undefined
  const { enforced, ip_policies: policies } = JSON.parse(row.body) as {
    enforced: boolean
    ip_policies: string[]
  }
  return { id: row.id, enforced, policies }
}

interface IdentifiedRule extends Rule {
  readonly id: string
}

async function rulesOf(policy: string, reader: Reader): Promise<IdentifiedRule[]> {
  const rows = await childRows('ip_policy_rule', policy, reader)
  return rows.map(row => ({ ...(JSON.parse(row.body) as Rule), id: row.id }))
}

export async function filterFor(restriction: Restriction, reader: Reader): Promise<(ip: string) => boolean> {
  const rules = await Promise.all(restriction.policies.map(policy => rulesOf(policy, reader)))
  return addressFilter(rules.flat())
}

/** What a call is about to change: a restriction's policies, or one rule (without `now`: it goes). */
interface Plan {
  readonly restriction?: { readonly id: string; readonly policies: readonly string[] }
  readonly rule?: { readonly id: string; readonly policy: string; readonly now?: Rule }
}

/** Refuses a change after which an enforced restriction would refuse the very caller that makes it. */
export async function requireCallerStaysIn(call: Call, plan: Plan): Promise<void> {
  for (const restriction of await affected(call, plan)) {
    const rules: Rule[] = []
    for (const policy of restriction.policies) {
      const kept = (await rulesOf(policy, call)).filter(rule => rule.id !== plan.rule?.id)
      rules.push(...kept, ...(plan.rule?.now && plan.rule.policy === policy ? [plan.rule.now] : []))
    }
    if (addressFilter(rules)(call.ip)) continue
    if (plan.rule && !plan.rule.now) fail('last_rule', { by: restriction.id, ip: call.ip })
    fail('would_lock_out', { ip: call.ip })
  }
}

async function affected(
  call: Call,
  { restriction, rule }: Plan,
): Promise<Pick<Restriction, 'id' | 'policies'>[]> {
  if (restriction) return [restriction]
  const standing = await Promise.all(['api', 'dashboard'].map(type => restrictionOn(type, call)))
  return standing.flatMap(each =>
    each?.enforced && rule && each.policies.includes(rule.policy) ? [each] : [],
  )
}
