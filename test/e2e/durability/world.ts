import { isDeepStrictEqual } from 'node:util'
import type { Answer, Caller } from '../../support/server.ts'

export type Body = Readonly<Record<string, unknown>>

/** Resources by their path. Edges are kept without their routes, which are resources of their own. */
export type World = ReadonlyMap<string, Body>

/** Each start has another port, so addresses are compared without it. */
const withoutBase = (body: Body, api: Caller): Body =>
  JSON.parse(JSON.stringify(body).replaceAll(api.url, ''))

export function resourceIn(answer: Answer, api: Caller): Body {
  const { routes: _, ...own } = withoutBase(answer.body, api)
  return own
}

export const pathOf = (resource: Body): string => String(resource['uri'])

async function listed(path: string, api: Caller): Promise<Body[]> {
  const found: Body[] = []
  for (let next: string | null = path; next !== null;) {
    const { status, body }: Answer = await api.get(next)
    if (status !== 200) throw new Error(`${next} answered ${status}`)
    const items = Object.values(body as object).find(Array.isArray) as Body[]
    found.push(...items)
    next = body.next_page_uri as string | null
  }
  return found
}

/** Every resource, by lists and by its own path. */
export async function readWorld(api: Caller): Promise<Map<string, Body>> {
  const lists = ['/ip_policies', '/ip_policy_rules', '/edges/https', '/edges/tcp']
  const world = new Map<string, Body>()
  for (const list of lists) {
    for (const item of await listed(list, api)) {
      const { routes = [], ...own } = withoutBase(item, api)
      for (const resource of [own, ...(routes as Body[])]) world.set(pathOf(resource), resource)
    }
  }
  await Promise.all([...world].map(([path, resource]) => checkAlone(path, resource, api)))
  return world
}

async function checkAlone(path: string, resource: Body, api: Caller): Promise<void> {
  const answer = await api.get(path)
  if (answer.status === 200 && isDeepStrictEqual(resourceIn(answer, api), resource)) return
  throw new Error(`${path} differs from its list: ${answer.status} ${JSON.stringify(answer.body)}`)
}

/** The part of a world that one writer made: it signs all that it makes. */
export const partOf = (world: World, writer: string): World =>
  new Map([...world].filter(([, resource]) => resource['metadata'] === writer))

/** One resource that is not in `before` and has these fields; everything else as before. */
export function isCreation(before: World, after: World, fields: Body): boolean {
  const added = [...after].filter(([path]) => !before.has(path))
  const [only] = added
  if (only === undefined || added.length > 1) return false
  const [path, resource] = only
  if (Object.entries(fields).some(([name, value]) => resource[name] !== value)) return false
  return isDeepStrictEqual(new Map([...after].filter(([other]) => other !== path)), before)
}
