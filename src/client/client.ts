import { allPages, isList, methodOf, queryOf } from '#client/method.ts'
import { sender, streamSender, type ClientOptions, type Send } from '#client/send.ts'
import { streamItems } from '#client/stream.ts'
import type { Client, PageRequest, StreamOptions } from '#client/types.ts'
import { dashboardCalls } from '#contract/dashboard.ts'
import { operations, type Operation } from '#contract/operations.ts'
import { singletons, type Singleton } from '#contract/singletons.ts'
import { streams } from '#contract/streams.ts'

function methodsOf(operation: Operation, send: Send): [string, unknown][] {
  const method = methodOf(operation, send)
  if (!isList(operation)) return [[operation.word, method]]
  const { length } = operation.params
  const all = (...args: unknown[]) => allPages(method, args.slice(0, length), args[length] as PageRequest)
  return [
    [operation.word, method],
    ['all', all],
  ]
}

/** A client of the management API. Its members are the collections, with their operations. */
export function createClient(options: ClientOptions): Client {
  const send = sender(options)
  const collections = Map.groupBy(operations, ({ collection }) => collection)
  const members = [...collections].map(([name, all]) => [
    name,
    Object.fromEntries(all.flatMap(operation => methodsOf(operation, send))),
  ])
  const once = Object.entries<Singleton>(singletons).map(([name, { method = 'GET', path }]) => [
    name,
    (filters?: PageRequest) => send({ method, path, query: queryOf(filters) }),
  ])
  const sendStream = streamSender(options)
  const followed = Object.entries(streams).map(([name, stream]) => [
    name,
    (filters: Record<string, string>, how: StreamOptions) => streamItems(stream, sendStream, filters, how),
  ])
  const { link, invite } = dashboardCalls
  const dashboard = {
    link: () => send({ method: link.method, path: link.path }),
    invite: (body: unknown) => send({ method: invite.method, path: invite.path, body }),
  }
  return Object.fromEntries([
    ...members,
    ...once,
    ['streams', Object.fromEntries(followed)],
    ['dashboard', dashboard],
  ]) as Client
}
