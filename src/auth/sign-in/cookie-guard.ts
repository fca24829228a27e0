import { ownCookies, ownMarks, readCookies } from '#auth/sign-in/cookies.ts'
import { joinFields, partFields, withChange, withoutOwnCookies } from '#auth/sign-in/headers.ts'
import { withHead } from '#http/changed.ts'
import type { Handler } from '#http/exchange.ts'
import type { Fields } from '#http/fields.ts'

/**
 * Keeps sign-in cookies with these prefixes from a service, and the service from setting them. Browsers send the session
 * of one route to all routes of the host: the service of another one could use it.
 */
export function cookieGuard(prefixes: readonly string[]): Handler {
  const checks = prefixes.map(ownCookies)
  const isOurs = (name: string): boolean => checks.some(check => check(name))
  const marks = prefixes.flatMap(ownMarks)
  const forService = (fields: Fields): Fields => {
    const cookie = fields.get('cookie')
    const hasMark = cookie !== undefined && marks.some(mark => fields.text.includes(mark))
    return hasMark ? withoutCookies(fields, isOurs) : fields
  }
  const forClient = withoutOwnCookies(marks, isOurs)
  return (exchange, next) => {
    const fields = exchange.head.fields.made(forService)
    const guarded = fields === exchange.head.fields ? exchange : withHead(exchange, { fields })
    return next(guarded).then(reply => withChange(reply, forClient))
  }
}

function withoutCookies(fields: Fields, isOurs: (name: string) => boolean): Fields {
  const parted = partFields(fields)
  return joinFields(parted, readCookies(parted.cookie, isOurs).rest, '')
}
