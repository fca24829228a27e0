import { may } from '#api/authority.ts'
import { hooksOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { isMasked } from '#api/records.ts'
import { linker, resourcePath } from '#api/uris.ts'
import { encode, type ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'

/** A resource as returned. `body` is the caller's own copy. Secrets only for callers who may read them. */
export async function show(kind: Kind, body: ResourceBody, call: Call): Promise<ResourceBody> {
  // Parts added by a view may have secrets, such as the routes of an edge.
  const hasNone = !isMasked(kind) && !hooksOf(kind).view
  const isOpen = hasNone || (await may('secrets', kind, body, call))
  return view(kind, body, call, isOpen ? 'show' : 'mask')
}

/** The same without secrets, for events. */
export const showMasked = (kind: Kind, body: ResourceBody, call: Call): Promise<ResourceBody> =>
  view(kind, body, call, 'mask')

async function view(
  kind: Kind,
  body: ResourceBody,
  call: Call,
  secrets: 'show' | 'mask',
): Promise<ResourceBody> {
  const hooks = hooksOf(kind)
  // Nested resources, such as the routes of an edge, are masked separately.
  const within: typeof show = (inner, part, asked) => view(inner, part, asked, secrets)
  const seen = hooks.view ? { ...body, ...(await hooks.view(body, call, within)) } : body
  seen['uri'] = call.base + resourcePath(kind, seen)
  return encode(kind.shape, seen, linker(call.base), secrets)
}

/** True when the view of a resource depends only on its row and is the same for all callers. */
export const alwaysShowsTheSame = (kind: Kind): boolean =>
  !kind.live && !kind.owned && kind.key === 'id' && !kind.parent && !isMasked(kind) && !hooksOf(kind).view
