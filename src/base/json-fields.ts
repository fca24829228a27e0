import { isPlainObject } from '#base/plain-object.ts'

/** A message of a peer that violates the protocol. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
}

/** Parses one value of a message; `undefined` is an absent member. */
export type FieldReader<T> = (value: unknown, name: string) => T

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
export type JsonObject = { [name: string]: Json }

const wrong = (name: string, wanted: string): never => {
  throw new MessageError(`${name} must be ${wanted}.`)
}

/** Text of at most `limit` characters; absent and null are the empty string, as in the agents' own parsers. */
export const text =
  (limit: number): FieldReader<string> =>
  (value, name) => {
    if (value === undefined || value === null) return ''
    if (typeof value !== 'string') return wrong(name, 'a string')
    return value.length <= limit ? value : wrong(name, `at most ${limit} characters long`)
  }

export const flag: FieldReader<boolean> = (value, name) => {
  if (value === undefined || value === null) return false
  return typeof value === 'boolean' ? value : wrong(name, 'true or false')
}

export const integer: FieldReader<number> = (value, name) => {
  if (value === undefined || value === null) return 0
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : wrong(name, 'an integer')
}

/** Distinguishes absent (or null) from given. */
export const nullable =
  <T>(field: FieldReader<T>): FieldReader<T | null> =>
  (value, name) =>
    value === undefined || value === null ? null : field(value, name)

/** Absent members stay absent. */
export const optional =
  <T>(field: FieldReader<T>): FieldReader<T | undefined> =>
  (value, name) =>
    value === undefined ? undefined : field(value, name)

export const list =
  <T>(field: FieldReader<T>, limit: number): FieldReader<T[]> =>
  (value, name) => {
    if (value === undefined || value === null) return []
    if (!Array.isArray(value)) return wrong(name, 'a list')
    if (value.length > limit) return wrong(name, `a list of at most ${limit}`)
    return value.map(item => field(item, name))
  }

/** Texts under names the peer chose, such as labels. */
export const texts =
  (limit: number, length: number): FieldReader<Record<string, string>> =>
  (value, name) => {
    const entries = Object.entries(anyObject(value, name))
    if (entries.length > limit) return wrong(name, `an object of at most ${limit} members`)
    const read = text(length)
    return Object.fromEntries(entries.map(([key, item]) => [read(key, name), read(item, name)]))
  }

/** An object that is forwarded unchanged. The size of the whole message limits it. */
export const anyObject: FieldReader<JsonObject> = (value, name) => {
  if (value === undefined || value === null) return {}
  return isPlainObject(value) ? (value as JsonObject) : wrong(name, 'an object')
}

type Shape<T> = { readonly [Name in keyof T]: FieldReader<T[Name]> }

/** An object with these members, in any case; others are ignored. */
export const object = <T extends object>(shape: Shape<T>): FieldReader<T> => {
  const fields = Object.entries<FieldReader<unknown>>(shape)
  return (value, name) => {
    const given = anyObject(value, name)
    const renamed = membersBeside(shape, given)
    const read: Record<string, unknown> = {}
    for (const [key, field] of fields) {
      const member = Object.hasOwn(given, key) ? given[key] : renamed?.get(key.toLowerCase())
      const item = field(member, name === '' ? key : `${name}.${key}`)
      if (item !== undefined) read[key] = item
    }
    return read as T
  }
}

/** The members with other names, which may differ in case only. Most messages have none, and a map costs more than they. */
function membersBeside(shape: object, given: JsonObject): ReadonlyMap<string, Json> | undefined {
  let found: Map<string, Json> | undefined
  for (const key of Object.keys(given))
    if (!Object.hasOwn(shape, key)) (found ??= new Map()).set(key.toLowerCase(), given[key])
  return found
}
