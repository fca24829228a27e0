import type { Call } from '#api/call.ts'
import type { LiveCapture } from '#api/live.ts'
import type { ResourceHooks } from '#api/resource-hooks.ts'
import { canonicalAddress } from '#base/addresses.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'
import { allows } from '#contract/access-rule.ts'
import type { ResourceBody } from '#contract/body.ts'
import { request as kind } from '#contract/kinds/request.ts'
import type { requestToExplain, RequestToExplain } from '#contract/route-explanation.ts'
import type { Create } from '#contract/shape.ts'

/** The path stays as it is written: the gateway compares paths as clients send them, and a URL parser changes them. */
const URL_FORM = /^(https?):\/\/(\[[\da-f:.]+\]|[^\s/:?#@[\]]+)(?::\d{1,5})?(\/[^\s?#]*)?(?:\?[^\s#]*)?$/i
/** RFC 9110, section 5.1. */
const HEADER_NAME = /^[!#$%&'*+.^`|~\w-]+$/

function readRequest(given: ResourceBody, { ip: caller }: Call): RequestToExplain {
  const {
    request_url: url,
    method = 'GET',
    headers = {},
    ip = caller,
  } = given as Create<typeof requestToExplain>
  const [, scheme = '', name = '', path = '/'] = URL_FORM.exec(url) ?? []
  const host = URL.parse(`http://${name}`)?.hostname.replace(/\.$/, '')
  if (!host) return fail('target_url', { field: 'request_url', example: 'https://shop.example.com/cart' })
  const bad = Object.keys(headers).find(header => !HEADER_NAME.test(header))
  if (bad !== undefined) fail('invalid_value', { field: 'headers', reason: `has the invalid name "${bad}"` })
  return {
    scheme: scheme.toLowerCase() === 'http' ? 'http' : 'https',
    method,
    host,
    path,
    headers,
    ip: canonicalAddress(ip) ?? fail('ip_invalid', { field: 'ip', value: ip }),
  }
}

/** The capture of a request, for the owner of its endpoint and admins. */
async function findCapture(id: string, { live, principal }: Call): Promise<LiveCapture> {
  const found = isId(id) ? await live.capture(id) : undefined
  if (found === undefined) {
    const isKnown = isId(id) && (await live.get('request', id)) !== undefined
    return isKnown ? fail('not_captured', { id }) : fail('not_found')
  }
  if (!allows(principal, 'secrets', kind, found.ownerId)) fail('captured_for_other', { id })
  return found
}

export const request: ResourceHooks = {
  collectionQueries: {
    async explain(given, call) {
      const { ownerId, explanation } = await call.live.explain(readRequest(given, call))
      const { principal } = call
      // Not even the names of others: a member learns only about endpoints of its own.
      return principal.role === 'admin' || ownerId === principal.id ? explanation : fail('not_found')
    },
  },
  liveQueries: {
    capture: async ({ id }, call) => (await findCapture(id, call)).capture,
  },
}
