import type { ResourceHooks } from '#api/resource-hooks.ts'
import { fail } from '#base/errors.ts'
import { allowsType, type Actor } from '#contract/access-rule.ts'
import type { ResourceBody } from '#contract/body.ts'
import { eventTypes } from '#contract/events/index.ts'
import { checkSelection, sourceFrom, type EventSource } from '#contract/events/source.ts'

/** Rejects unknown event types, and repeated ones. */
function checkTypes(sources: readonly EventSource[]): void {
  const seen = new Set<string>()
  for (const { type } of sources) {
    if (!eventTypes.has(type)) fail('event_type', { field: 'type', value: type })
    if (seen.has(type)) fail('source_twice', { field: 'type', value: type })
    seen.add(type)
  }
}

/** Rejects new event types that the caller may not read; delivery checks the owner's permissions. */
function checkReadable(
  sources: readonly EventSource[],
  before: ResourceBody | undefined,
  actor: Actor,
): void {
  const known = new Set(before && sourcesOf(before).map(({ type }) => type))
  const denied = sources.find(({ type }) => !known.has(type) && !allowsType(actor, type))
  if (denied) fail('event_type_denied', { field: 'type', value: denied.type })
}

export const sourcesOf = (subscription: ResourceBody): EventSource[] =>
  subscription['sources'] as EventSource[]

/** A source as returned. Clients of the hosted service know `type` and `uri`: the rest is present only if set. */
export const showSource = ({ type, ...chosen }: EventSource, listUri: string): ResourceBody => ({
  type,
  uri: `${listUri}/${type}`,
  ...chosen,
})

export const eventSubscription: ResourceHooks = {
  prepare({ body, before, given }, { principal }) {
    const sources = sourcesOf(body).map(sourceFrom)
    checkTypes(sources)
    checkReadable(sources, before, principal)
    // Stored sources were already checked.
    if (given['sources'] !== undefined)
      sources.forEach((source, index) => checkSelection(source, `sources.${index}.`))
    body['sources'] = sources
  },
  view: async (body, call) => {
    const listUri = `${call.base}/event_subscriptions/${String(body['id'])}/sources`
    return { sources: sourcesOf(body).map(source => showSource(source, listUri)) }
  },
}
