import type { Call } from '#api/call.ts'
import { canonicalAddress } from '#base/addresses.ts'
import { fail } from '#base/errors.ts'
import type { ResourceBody } from '#contract/body.ts'
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

/** What would handle a request. */
export async function explainRoute(given: ResourceBody, call: Call): Promise<ResourceBody> {
  const { ownerId, explanation } = await call.live.explain(readRequest(given, call))
  const { principal } = call
  // Not even the names of others: a member learns only about endpoints of its own.
  return principal.role === 'admin' || ownerId === principal.id ? explanation : fail('not_found')
}
