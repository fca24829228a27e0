import { sourcesOf, type Source } from '#api/behaviours/event-subscription.ts'
import type { Call } from '#api/call.ts'
import type { Arguments, Operate } from '#api/arguments.ts'
import { find } from '#api/records.ts'
import { change } from '#api/writing.ts'
import { fail } from '#base/errors.ts'
import type { Body } from '#contract/body.ts'
import { eventSubscription } from '#contract/kinds/events.ts'

/** Event sources are kept inside their subscription: each is no more than a type. */

const subscription = ({ parent }: Arguments) => ({ kind: eventSubscription, id: parent ?? '', parent: null })

const listUri = ({ parent }: Arguments, call: Call): string =>
  `${call.base}/event_subscriptions/${parent ?? ''}/sources`

const show = (type: string, given: Arguments, call: Call): Body => ({
  type,
  uri: `${listUri(given, call)}/${type}`,
})

const requireSource = (body: Body, type: string): void => {
  if (!sourcesOf(body).some(source => source.type === type)) fail('source_missing', { value: type })
}

function changed(given: Arguments, call: Call, apply: (sources: Source[]) => Source[]): Promise<Body> {
  return change(subscription(given), call, ({ body }) => ({
    body: { ...body, sources: apply(sourcesOf(body)) },
    given: {},
  }))
}

async function get(given: Arguments, call: Call): Promise<Body> {
  requireSource((await find(subscription(given), call)).body, given.id)
  return show(given.id, given, call)
}

export const operations: Record<string, Operate> = {
  async create(given, call) {
    const type = String(given.body['type'])
    await changed(given, call, sources => [...sources, { type }])
    return show(type, given, call)
  },
  get,
  // There is nothing about a source that could change.
  update: get,
  async list(given, call) {
    const { body } = await find(subscription(given), call)
    return { sources: sourcesOf(body).map(({ type }) => show(type, given, call)), uri: listUri(given, call) }
  },
  async delete(given, call) {
    await changed(given, call, sources => {
      requireSource({ sources }, given.id)
      return sources.filter(source => source.type !== given.id)
    })
    return undefined
  },
}
