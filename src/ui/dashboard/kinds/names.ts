import type { Page as ApiPage } from '#client/types.ts'
import type { Collection } from '#contract/kinds/index.ts'
import { call } from '#ui/dashboard/api.ts'
import { collectionOfId, keyOf, kindOf, nameOf, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { isAdmin, user } from '#ui/dashboard/session.ts'

type Names = ReadonlyMap<string, string>

interface Question {
  readonly ids: Set<string>
  readonly names: Promise<Names>
}

/** The ids of one call, so that its filter stays short. */
const MAX_IDS = 25

/** The ids of the next call of each collection. */
const next = new Map<Collection, Question>()

/** A filter, because a call for a resource that was deleted would be an error. */
async function namesOf(collection: Collection, ids: ReadonlySet<string>): Promise<Names> {
  const kind = kindOf(collection)
  const filter = [...ids].map(id => `obj.id == ${JSON.stringify(id)}`).join(' || ')
  const { items } = (await call(collection, 'list', { filter })) as ApiPage<Resource>
  return new Map(items.map(item => [keyOf(kind, item), nameOf(kind, item)]))
}

/** All that a page needs at once are read with one call for each kind. */
function ask(collection: Collection, id: string): Promise<Names> {
  let question = next.get(collection)
  if (question === undefined || question.ids.size >= MAX_IDS) {
    const ids = new Set<string>()
    const names = new Promise<void>(resolve => void setTimeout(resolve)).then(() => {
      if (next.get(collection)?.ids === ids) next.delete(collection)
      return namesOf(collection, ids)
    })
    next.set(collection, (question = { ids, names }))
  }
  question.ids.add(id)
  return question.names
}

/** What people call the resource with an id; the id if it has no name, is deleted, or must not be read. */
export async function nameOfId(id: string): Promise<string> {
  if (id === user.value?.id) return user.value.name || user.value.email
  const collection = collectionOfId(id)
  if (collection === undefined) return id
  const { adminOnly = false, verbs } = kindOf(collection)
  if (!verbs.includes('list') || (adminOnly && !isAdmin.value)) return id
  return (await ask(collection, id)).get(id) ?? id
}
