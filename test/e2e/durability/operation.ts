import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Answer, Caller } from '../../support/server.ts'
import { isCreation, pathOf, resourceIn, type Body, type World } from './world.ts'

/** One call and its effect on a writer's resources. */
export interface Operation {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: Body
  /** The world once the call is acknowledged; checks the answer. */
  readonly apply: (world: World, answer: Answer, api: Caller) => World
  /** Could this be the world if the call had taken effect without an answer? */
  readonly explains: (before: World, after: World) => boolean
}

export const create = (path: string, body: Body): Operation => ({
  method: 'POST',
  path,
  body,
  apply(world, answer, api) {
    const resource = resourceIn(answer, api)
    for (const name of ['description', 'metadata']) assert.equal(resource[name], body[name])
    return new Map(world).set(pathOf(resource), resource)
  },
  explains: (before, after) =>
    isCreation(before, after, { description: body['description'], metadata: body['metadata'] }),
})

/** A change after which the resource is known in full. */
const change = (
  call: Pick<Operation, 'method' | 'body'>,
  at: string,
  path: string,
  becomes: Body,
): Operation => {
  const after = (world: World): World => new Map(world).set(path, { ...world.get(path), ...becomes })
  return { ...call, path: at, apply: after, explains: (before, now) => isDeepStrictEqual(now, after(before)) }
}

export const update = (path: string, body: Body): Operation =>
  change({ method: 'PATCH', body }, path, path, body)

export const replaceModule = (path: string, name: string, body: Body, shown: Body = body): Operation =>
  change({ method: 'PUT', body }, `${path}/${name}`, path, { [name]: shown })

const belongsTo = (path: string, resource: Body): boolean =>
  resource['edge_id'] === path.split('/').at(-1) ||
  (resource['ip_policy'] as { uri?: string } | undefined)?.uri === path

/** Removes a resource and all that belongs to it, which is a change of many rows. */
export const remove = (path: string): Operation => {
  const after = (world: World): World =>
    new Map([...world].filter(([other, resource]) => other !== path && !belongsTo(path, resource)))
  return {
    method: 'DELETE',
    path,
    apply: after,
    explains: (before, now) => isDeepStrictEqual(now, after(before)),
  }
}
