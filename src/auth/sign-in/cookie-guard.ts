import { ownCookies, ownMarks, readCookies } from '#auth/sign-in/cookies.ts'
import { joinFields, partFields, withoutOwnCookies } from '#auth/sign-in/headers.ts'
import { withHead } from '#http/changed.ts'
import type { Handler } from '#http/exchange.ts'

/**
 * Keeps sign-in cookies with these prefixes from a service, and the service from setting them. Browsers send the session
 * of one route to all routes of the host: the service of another one could use it.
 */
export function cookieGuard(prefixes: readonly string[]): Handler {
  const checks = prefixes.map(ownCookies)
  const isOurs = (name: string): boolean => checks.some(check => check(name))
  const marks = prefixes.flatMap(ownMarks)
  return async (exchange, next) => {
    const { fields } = exchange.head
    const cookie = fields.get('cookie')
    const hasMark = cookie !== undefined && marks.some(mark => fields.text.includes(mark))
    return withoutOwnCookies(
      await next(hasMark ? withHead(exchange, { fields: withoutCookies(fields, isOurs) }) : exchange),
      marks,
      isOurs,
    )
  }
}

function withoutCookies(fields: Parameters<typeof partFields>[0], isOurs: (name: string) => boolean) {
  const parted = partFields(fields)
  return joinFields(parted, readCookies(parted.cookie, isOurs).rest, '')
}
