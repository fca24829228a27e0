import { randomPart } from '#base/ids.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import type { Ref } from '#contract/schema.ts'

const pathByPrefix = new Map(Object.values(kinds).map(kind => [kind.prefix, kind.path]))

/** The path of a collection with this parent. */
export const collectionPath = (kind: Kind, parent: string | null): string =>
  kind.parent ? kind.path.replace(`{${kind.parent.param}}`, parent ?? '') : kind.path

export const resourcePath = (kind: Kind, body: ResourceBody): string => {
  const parent = kind.parent ? String(body[kind.parent.param]) : null
  return `${collectionPath(kind, parent)}/${String(body[kind.key])}`
}

/** Builds Refs below the URL under which the caller reached the API. */
export const linker =
  (base: string) =>
  (id: string): Ref => {
    const path = pathByPrefix.get(id.slice(0, -randomPart(id).length - 1))
    return { id, uri: path === undefined ? '' : `${base}${path}/${id}` }
  }
