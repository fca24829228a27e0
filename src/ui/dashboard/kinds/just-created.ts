import type { Resource } from '#ui/dashboard/kinds/resource.ts'

let created: { readonly id: string; readonly resource: Resource } | undefined

/** Remembers the response that created a resource, until the next one: it may contain secrets that are shown once. */
export function rememberCreated(id: string, resource: Resource): void {
  created = { id, resource }
}

/** The texts that the response to the creation had and that are no longer returned. */
export function shownOnce(id: string, now: Resource): [name: string, value: string][] {
  if (created?.id !== id) return []
  return Object.entries(created.resource).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && value !== '' && !now[name] ? [[name, value]] : [],
  )
}
