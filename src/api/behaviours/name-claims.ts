import { DOMAINS } from '#api/behaviours/edges.ts'
import type { Call } from '#api/call.ts'
import { isUnder } from '#api/names.ts'
import { fail } from '#base/errors.ts'
import { isHeldLabel, readsAs } from '#base/held-names.ts'
import { isOwnLabel } from '#base/own-names.ts'
import { ownerIn } from '#contract/access-rule.ts'

const field = 'domain'

/** The parent domains, nearest first, up to the shared domain. */
function namesAbove(name: string, base: string): string[] {
  const labels = name.split('.')
  const above = labels.slice(1).map((_, index) => labels.slice(index + 1).join('.'))
  return above.slice(0, above.includes(base) ? above.indexOf(base) : above.length)
}

/** Rejects a new reservation of another user's names, or of a restricted name, for members. */
export async function requireFreeName(domain: string, call: Call): Promise<void> {
  const { principal, info } = call
  if (principal.role === 'admin') return
  const above = namesAbove(domain, info.domain)
  const refuse = (): never => fail('address_of_other', { field, address: domain })
  if (await isOfOther(above, call)) refuse()
  const holders = await call.live.nameOwners([domain, ...above.flatMap(name => [name, `*.${name}`])])
  if (holders.some(id => id !== principal.id)) refuse()
  if (!isUnder(domain, info.domain)) return
  const label =
    domain
      .slice(0, -info.domain.length - 1)
      .split('.')
      .at(-1) ?? ''
  const ascii = readsAs(label)
  const isHeld = isHeldLabel(label) || (ascii !== undefined && (isHeldLabel(ascii) || isOwnLabel(ascii)))
  if (isHeld) fail('name_held_back', { field, name: domain })
  if (ascii !== undefined && (await isOfOther([`${ascii}.${info.domain}`], call))) refuse()
}

/** Whether the nearest reservation among these, of a name or its wildcard, belongs to another user. */
async function isOfOther(names: readonly string[], { store, principal }: Call): Promise<boolean> {
  for (const value of names.flatMap(name => [`*.${name}`, name])) {
    const row = await store.holder({ namespace: DOMAINS, value })
    if (row === undefined) continue
    const owner = ownerIn(JSON.parse(row.body) as Readonly<Record<string, unknown>>)
    return owner !== '' && owner !== principal.id
  }
  return false
}
