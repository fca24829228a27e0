import type { Behaviour } from '#api/behaviour.ts'
import { fail } from '#base/errors.ts'
import type { Body } from '#contract/body.ts'
import { eventTypes } from '#contract/events/index.ts'

export interface Source {
  readonly type: string
}

/** Refuses types that no event has, and a type that is there twice. */
function checkSources(sources: readonly Source[]): void {
  const seen = new Set<string>()
  for (const { type } of sources) {
    if (!eventTypes.has(type)) fail('event_type', { field: 'type', value: type })
    if (seen.has(type)) fail('source_twice', { field: 'type', value: type })
    seen.add(type)
  }
}

export const sourcesOf = (subscription: Body): Source[] => subscription['sources'] as Source[]

export const eventSubscription: Behaviour = {
  prepare(draft) {
    checkSources(sourcesOf(draft.body))
  },
  view: async (body, call) => ({
    sources: sourcesOf(body).map(({ type }) => ({
      type,
      uri: `${call.base}/event_subscriptions/${String(body['id'])}/sources/${type}`,
    })),
  }),
}
