import type { Exchange, Reply } from '#http/exchange.ts'
import { openChallenge } from '#gateway/acme/challenge-rows.ts'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'

const PREFIX = '/.well-known/acme-challenge/'

/**
 * The response to an HTTP-01 validation request (RFC 8555 §8.3). Undefined for all other requests: a service may have
 * an ACME client of its own.
 */
export function httpChallenge(
  { client, head }: Exchange,
  records: Pick<Records, 'httpChallenges'>,
  now: () => number = Date.now,
): Reply | undefined {
  if (client.scheme !== 'http' || head.method !== 'GET' || !head.path.startsWith(PREFIX)) return undefined
  const rows = records.httpChallenges(head.path.slice(PREFIX.length))
  const row = rows.length === 0 ? undefined : openChallenge(rows, head.host, now())
  return row && textReply(textOf(row, 'key_authorization'))
}

function textReply(text: string): Reply {
  const fields = new Fields(
    'Content-Type: text/plain\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n',
  )
  const body = bodyOf(Buffer.from(text))
  return { head: { status: 200, reason: 'OK', fields, framing: body.framing }, body }
}
