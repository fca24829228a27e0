import type { Call } from '#api/call.ts'
import { childRows } from '#api/records.ts'
import { addressFilter, type Rule } from '#base/address-filter.ts'
import { fail } from '#base/errors.ts'
import { objectInText } from '#base/plain-object.ts'
import { restrictionTypes } from '#contract/kinds/ip-restriction.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import type { Store } from '#store/store.ts'

/** There is at most one restriction for each type of traffic. */
export const RESTRICTION_TYPES = 'ip_restriction_type'

interface StoredRestriction {
  readonly id: string
  readonly enforced: boolean
  readonly policies: readonly string[]
}

type Reader = { readonly store: Store }

export async function restrictionOn(type: string, reader: Reader): Promise<StoredRestriction | undefined> {
  const row = await reader.store.holder({ namespace: RESTRICTION_TYPES, value: type })
  if (!row) return undefined
  // A damaged row must not keep admins from the API, where they can replace it.
  const { enforced, ip_policies: policies } = objectInText(row.body)
  const readable = Array.isArray(policies) ? policies.filter(isText) : []
  return { id: row.id, enforced: enforced === true, policies: readable }
}

const isText = (value: unknown): value is string => typeof value === 'string'

interface IdentifiedRule extends Rule {
  readonly id: string
  readonly ip_policy: string
}

export async function rulesOf(policy: string, reader: Reader): Promise<IdentifiedRule[]> {
  const rows = await childRows('ip_policy_rule', policy, reader)
  const rules = rows.map(row => ({ ...(objectInText(row.body) as Omit<IdentifiedRule, 'id'>), id: row.id }))
  return rules.filter(({ cidr }) => isText(cidr))
}

export async function filterFor(
  restriction: StoredRestriction,
  reader: Reader,
): Promise<(ip: string) => boolean> {
  const rules = await Promise.all(restriction.policies.map(policy => rulesOf(policy, reader)))
  return addressFilter(rules.flat())
}

/** What locks its users out when they make a mistake; agents and endpoints do not make changes. */
const lockableTypes = ['api', 'dashboard'] as const
type LockableType = (typeof lockableTypes)[number]

const isLockable = (type: string): type is LockableType => lockableTypes.some(each => each === type)

interface PlannedRestriction {
  readonly id: string
  readonly type: string
  readonly policies: readonly string[]
}

/** A pending change: an enforced restriction, or one rule (without `now`: deleted). */
interface PlannedChange {
  readonly restriction?: PlannedRestriction
  readonly rule?: { readonly id: string; readonly policy: string; readonly now?: Rule }
}

/** The way back in when all other addresses are locked out. */
const LOOPBACK = '127.0.0.1'

/** Rejects a change after which an enforced restriction would deny its own caller, or API keys on loopback. */
export async function requireNoLockOut(call: Call, plan: PlannedChange): Promise<void> {
  for (const { id, type, policies } of await affected(call, plan)) {
    if (!isLockable(type) || (type === 'dashboard' && !isBrowser(call))) continue
    const allows = addressFilter(await rulesAfter(call, plan, policies))
    if (!allows(call.ip)) {
      if (plan.rule && !plan.rule.now) fail('last_rule', { by: id, ip: call.ip })
      fail('would_lock_out', { ip: call.ip })
    }
    if (type === 'api' && !allows(LOOPBACK)) fail('would_lock_out_loopback', { ip: LOOPBACK })
  }
}

/** A key works whatever the restriction of the dashboard is. */
const isBrowser = ({ principal }: Call): boolean => hasPrefixOf(dashboardSession, principal.keyId)

async function rulesAfter(
  call: Call,
  { rule: planned }: PlannedChange,
  policies: readonly string[],
): Promise<Rule[]> {
  const rules: Rule[] = []
  for (const policy of policies) {
    const kept = (await rulesOf(policy, call)).filter(rule => rule.id !== planned?.id)
    rules.push(...kept, ...(planned?.now && planned.policy === policy ? [planned.now] : []))
  }
  return rules
}

/** The restrictions that a change affects. */
async function affected(call: Call, { restriction, rule }: PlannedChange): Promise<PlannedRestriction[]> {
  if (restriction) return [restriction]
  const found: PlannedRestriction[] = []
  for (const type of lockableTypes) {
    const standing = await restrictionOn(type, call)
    if (standing?.enforced && rule && standing.policies.includes(rule.policy))
      found.push({ ...standing, type })
  }
  return found
}

/** Rejects a member's change of a restriction's parts: only admins decide about restrictions. */
export async function requireNotRestricting(policy: string, call: Call): Promise<void> {
  if (call.principal.role === 'admin') return
  for (const type of restrictionTypes) {
    const restriction = await restrictionOn(type, call)
    if (restriction?.policies.includes(policy))
      fail('not_allowed', { action: 'change an IP policy that an IP restriction uses' })
  }
}
