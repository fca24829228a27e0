import { fail } from '#base/errors.ts'
import type { Reply } from '#http/exchange.ts'
import { redirectReply } from '#http/pages.ts'
import { type ProviderResponse, answerUrl } from '#auth/sign-in/provider-response.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { RealmsAt } from '#auth/sign-in/sign-in.ts'

export interface HandOver {
  readonly seal: Seal
  readonly realmsAt: RealmsAt
}

/**
 * Redirects a browser from the callback host to the endpoint where its sign-in started. Throws a Problem when that host
 * does not require sign-in in the same realm now: its owner may have changed, or the name may lead to passed-through
 * TLS, where a service sees every URL.
 */
export function handOver({ seal, realmsAt }: HandOver, response: ProviderResponse, status: 302 | 303): Reply {
  const { origin, realmId } = response.state
  const { protocol, hostname } = new URL(origin)
  if (!realmsAt(protocol === 'https:' ? 'https' : 'http', hostname).includes(realmId))
    return fail('sign_in_elsewhere', { target: hostname })
  return redirectReply(answerUrl(seal, response) ?? fail('sign_in_answer_long'), status)
}
