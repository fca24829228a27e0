import { requireChange } from '#api/authority.ts'
import { showSource, sourcesOf } from '#api/behaviours/event-subscription.ts'
import type { Call } from '#api/call.ts'
import type { Arguments, Operate } from '#api/arguments.ts'
import { find } from '#api/records.ts'
import { change } from '#api/writing.ts'
import { fail } from '#base/errors.ts'
import type { ResourceBody } from '#contract/body.ts'
import { checkSelection, sourceFrom, type EventSource } from '#contract/events/source.ts'
import { eventTypes } from '#contract/events/index.ts'
import { eventSubscription } from '#contract/kinds/events.ts'

/** Event sources are stored inside their subscription: each is a type, with its options. */

const subscription = ({ parent }: Arguments) => ({ kind: eventSubscription, id: parent ?? '', parent: null })

const listUri = ({ parent }: Arguments, call: Call): string =>
  `${call.base}/event_subscriptions/${parent ?? ''}/sources`

const sourceOf = (body: ResourceBody, type: string): EventSource =>
  sourcesOf(body).find(source => source.type === type) ?? fail('source_missing', { value: type })

/** The source in a request, with errors under the caller's names. */
function checked(given: EventSource): EventSource {
  const source = sourceFrom(given)
  if (eventTypes.has(source.type)) checkSelection(source)
  return source
}

async function changed(
  given: Arguments,
  call: Call,
  apply: (sources: EventSource[]) => EventSource[],
): Promise<ResourceBody> {
  return change(subscription(given), call, ({ body }) => ({
    body: { ...body, sources: apply(sourcesOf(body)) },
    given: {},
  }))
}

async function get(given: Arguments, call: Call): Promise<ResourceBody> {
  const { body } = await find(subscription(given), call)
  return showSource(sourceOf(body, given.id), listUri(given, call))
}

export const operations: Record<string, Operate> = {
  async create(given, call) {
    const source = checked(given.body as unknown as EventSource)
    await changed(given, call, sources => [...sources, source])
    return showSource(source, listUri(given, call))
  },
  get,
  async update(given, call) {
    // The type identifies a source; clients that know no other field send none.
    if (Object.keys(given.body).length === 0) {
      await requireChange(eventSubscription, (await find(subscription(given), call)).body, call)
      return get(given, call)
    }
    const body = await changed(given, call, sources => {
      const next = checked({ ...sourceOf({ sources }, given.id), ...given.body })
      return sources.map(source => (source.type === given.id ? next : source))
    })
    return showSource(sourceOf(body, given.id), listUri(given, call))
  },
  async list(given, call) {
    const { body } = await find(subscription(given), call)
    const uri = listUri(given, call)
    return { sources: sourcesOf(body).map(source => showSource(source, uri)), uri }
  },
  async delete(given, call) {
    await changed(given, call, sources => {
      sourceOf({ sources }, given.id)
      return sources.filter(source => source.type !== given.id)
    })
    return undefined
  },
}
