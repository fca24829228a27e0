import { fail } from '#base/errors.ts'
import { normalName } from '#base/hosts.ts'
import { nameFault } from '#base/name-fault.ts'

/** A normalized host name, or an error with the reason why it is not one. */
export function readName(given: string, field: string): string {
  const name = normalName(given)
  const fault = nameFault(name)
  if (fault)
    fail(fault.code as 'domain_label_start', { field, value: given.slice(0, 100), label: fault.label })
  if (/(^|\.)\d+$/.test(name)) fail('domain_tld', { field, value: given })
  return name
}

/** Whether the name is the base itself or below it. */
export const isUnder = (name: string, base: string): boolean => name === base || name.endsWith(`.${base}`)
