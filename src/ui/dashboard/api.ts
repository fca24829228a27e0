import { signal } from '@preact/signals'
import { createClient } from '#client/client.ts'
import { methodOf, type ClientMethod } from '#client/method.ts'
import { sender, type ClientOptions } from '#client/send.ts'
import { operations, type Operation } from '#contract/operations.ts'
import { csrfHeader, sessionEnded } from '#ui/dashboard/session.ts'

/** Whether the last request reached the server. */
export const isReachable = signal(true)

/** Notices a lost connection and an ended session, for every call. */
async function watchedFetch(...args: Parameters<typeof fetch>): Promise<Response> {
  try {
    const response = await fetch(...args)
    isReachable.value = true
    if (response.status === 401) sessionEnded()
    return response
  } catch (error) {
    const isAborted = error instanceof DOMException && error.name === 'AbortError'
    if (!isAborted) isReachable.value = false
    throw error
  }
}

const options: ClientOptions = { url: '', headers: csrfHeader, fetch: watchedFetch }

export const api = createClient(options)
const send = sender(options)

const methods = new Map<string, { operation: Operation; method: ClientMethod }>(
  operations.map(operation => [
    `${operation.collection} ${operation.word}`,
    { operation, method: methodOf(operation, send) },
  ]),
)

export const operationOf = (collection: string, word: string): Operation | undefined =>
  methods.get(`${collection} ${word}`)?.operation

/** Calls an operation that is known only at run time. */
export async function call(collection: string, word: string, ...args: readonly unknown[]): Promise<unknown> {
  const found = methods.get(`${collection} ${word}`)
  if (!found) throw new Error(`${collection} has no operation ${word}`)
  return found.method(...args)
}
