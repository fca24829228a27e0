import { requireChange } from '#api/authority.ts'
import type { Arguments, Operate } from '#api/arguments.ts'
import type { Call } from '#api/call.ts'
import { hooksOf } from '#api/behaviours/index.ts'
import * as liveView from '#api/live-view.ts'
import { readPage, type ListRequest } from '#api/paging.ts'
import * as reading from '#api/reading.ts'
import { find } from '#api/records.ts'
import { remove } from '#api/removing.ts'
import * as sources from '#api/sources.ts'
import * as writing from '#api/writing.ts'
import { fail } from '#base/errors.ts'
import type { Kind } from '#contract/kind.ts'
import type { Operation } from '#contract/operations.ts'

const address = (kind: Kind, { id, parent }: Arguments) => ({ kind, id, parent })

function resourceOperations(kind: Kind): Record<string, Operate> {
  return {
    create: ({ body, parent }, call) => writing.create(kind, body, parent, call),
    get: (given, call) => reading.get(address(kind, given), call),
    list: (given, call) => reading.list(kind, page(kind, given, call), given.parent, call),
    update: (given, call) => writing.update(address(kind, given), given.body, call),
    delete: async (given, call) => {
      await remove(address(kind, given), call)
      return undefined
    },
  }
}

const page = (kind: Kind, given: Arguments, call: Call): ListRequest =>
  readPage(given.query, kind, call.now())

function liveOperations(kind: Kind): Record<string, Operate> {
  return {
    get: ({ id }, call) => liveView.get(kind, id, call),
    list: (given, call) => liveView.list(kind, page(kind, given, call), call),
  }
}

function moduleOperation(kind: Kind, name: string, verb: 'replace' | 'get' | 'delete'): Operate {
  switch (verb) {
    case 'replace':
      return (given, call) => writing.replaceModule(address(kind, given), name, given.body, call)
    case 'get':
      return (given, call) => reading.getModule(address(kind, given), name, call)
    case 'delete':
      return async (given, call) => {
        await writing.removeModule(address(kind, given), name, call)
        return undefined
      }
  }
}

function actionOperation(kind: Kind, name: string): Operate {
  const { mutations, commands, queries, liveQueries, collectionQueries } = hooksOf(kind)
  const ofCollection = collectionQueries?.[name]
  if (ofCollection) return ({ body }, call) => ofCollection(body, call)
  const ofLive = liveQueries?.[name]
  if (ofLive) return ofLive
  if (kind.live) return ({ id }, call) => liveView.command(kind, id, name, call)
  const query = queries?.[name]
  if (query) return async (given, call) => query(await find(address(kind, given), call), given.body, call)
  const command = commands?.[name]
  if (command)
    return async (given, call) => {
      const record = await find(address(kind, given), call)
      await requireChange(kind, record.body, call)
      return (await command(record, call)) ?? undefined
    }
  const mutation = mutations?.[name]
  if (!mutation) throw new Error(`nothing carries out ${name} of ${kind.name}`)
  return async (given, call) => {
    await writing.change(address(kind, given), call, record => ({ body: mutation(record), given: {} }))
    return undefined
  }
}

function verbOperations(kind: Kind): Record<string, Operate> {
  if (kind.key === 'type') return sources.operations
  return kind.live ? liveOperations(kind) : resourceOperations(kind)
}

/** The implementation of an operation. */
export function operate(operation: Operation): Operate {
  const { kind, does } = operation
  if ('module' in does) return moduleOperation(kind, does.module, does.verb)
  if ('action' in does) return actionOperation(kind, does.action)
  return verbOperations(kind)[does.verb] ?? (() => fail('not_found'))
}
