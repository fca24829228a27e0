import type { ResourceHooks } from '#api/resource-hooks.ts'
import { samlView } from '#api/behaviours/sign-in.ts'
import { readName } from '#api/names.ts'
import { fail, Problem } from '#base/errors.ts'
import { httpsEdgeRoute as kind } from '#contract/kinds/https-edge-route.ts'

/** Visible characters allowed in a path; anything else must be percent-encoded. */
const PATH = /^\/[!$%&'()*+,\-./0-9:;=@A-Z_a-z~]*$/

/** A normalized match: the host name in lower case, the path unchanged. */
function readMatch(match: string): string {
  const refused = () => fail('match_form', { field: 'match', value: match.slice(0, 100) })
  const slash = match.indexOf('/')
  const host = slash === -1 ? match : match.slice(0, slash)
  const path = slash === -1 ? '' : match.slice(slash)
  if (path !== '' && (!PATH.test(path) || /%(?![0-9A-Fa-f]{2})/.test(path))) refused()
  if (host === '') return path
  if (!host.includes('.')) refused()
  try {
    return readName(host, 'match') + path
  } catch (error) {
    throw error instanceof Problem
      ? new Problem('match_form', { field: 'match', value: match.slice(0, 100) })
      : error
  }
}

export const httpsEdgeRoute: ResourceHooks = {
  prepare(draft) {
    const route = draft.as(kind)
    route.match = readMatch(route.match)
    draft.claim('route_match', `${route.edge_id} ${route.match}`, {
      refusal: 'match_taken',
      field: 'match',
      shown: route.match,
    })
  },
  view: async (body, call) => samlView(body, call),
}
