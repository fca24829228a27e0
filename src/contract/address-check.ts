import { boolean, line, nullable, object, oneOf, type Static } from '#contract/schema.ts'
import { input, required } from '#contract/shape.ts'

/** The body of a check. */
export const addressToCheck = {
  ip: required(input(line({ maxBytes: 64 }), 'An IPv4 or IPv6 address.')),
}

const rule = object({ id: line(), ip_policy_id: line(), cidr: line(), action: oneOf('allow', 'deny') })

export const checkedAddress = object({
  ip: line(),
  allowed: boolean(),
  rule: nullable(rule),
  reason: line(),
})

export const checkedRestriction = object({ ...checkedAddress.properties, enforced: boolean() })

export type CheckedAddress = Static<typeof checkedAddress>
