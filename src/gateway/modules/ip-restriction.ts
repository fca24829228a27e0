import { addressFilter, type Rule } from '#base/address-filter.ts'
import { parseRange } from '#base/addresses.ts'
import { fail } from '#base/errors.ts'
import type { ipRestriction as contract } from '#contract/modules/ip-restriction.ts'
import type { Stored } from '#contract/shape.ts'
import type { Handler } from '#http/exchange.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import { withPreview } from '#gateway/modules/preview.ts'
import { readModule } from '#base/read-module.ts'
import { errorReply } from '#http/pages.ts'
import { type JsonObject, list, object, text } from '#base/json-fields.ts'

const OPTION = 'IPRestriction'
const ranges = list(text(64), 1000)
const options = object({ allow_cidrs: ranges, deny_cidrs: ranges })

const everyone: readonly Rule[] = [
  { cidr: '0.0.0.0/0', action: 'allow' },
  { cidr: '::/0', action: 'allow' },
]

/** The address filter of an agent; without HTTP it is checked once per connection. */
export function addressesOf(given: JsonObject): (ip: string) => boolean {
  const { allow_cidrs, deny_cidrs } = readModule(OPTION, options, given)
  if (allow_cidrs.length + deny_cidrs.length === 0)
    fail('bind_option', { option: OPTION, reason: 'it names no range' })
  const bad = [...allow_cidrs, ...deny_cidrs].find(cidr => parseRange(cidr) === undefined)
  if (bad !== undefined)
    fail('bind_option', { option: OPTION, reason: `"${bad}" is not a range such as 203.0.113.0/24` })
  // Deny rules alone allow all other addresses.
  const allowed = allow_cidrs.map(cidr => ({ cidr, action: 'allow' }) as const)
  const denied = deny_cidrs.map(cidr => ({ cidr, action: 'deny' }) as const)
  return addressFilter([...(allowed.length > 0 ? allowed : everyone), ...denied])
}

/** Allows a request if its address is allowed. */
const filtered = (passes: (ip: string) => boolean): Handler =>
  withPreview(
    (exchange, next) => {
      const { ip } = exchange.client
      if (passes(ip)) return next(exchange)
      return Promise.resolve(errorReply('ip_policy_refused', exchange.head, { ip }))
    },
    async ({ ip }) => (passes(ip) ? undefined : 'ip_policy_refused'),
  )

export const ipRestrictionModule: HttpModule = {
  name: 'ip_restriction',
  alias: 'ip_policy',
  fromRecord(given, _place, { records }) {
    const { ip_policies: policies } = given as Stored<typeof contract.shape>
    return filtered(records.addressesAllowed(policies))
  },
  fromAgent: {
    options: [OPTION],
    build: ({ IPRestriction }) => filtered(addressesOf(IPRestriction ?? {})),
  },
}
