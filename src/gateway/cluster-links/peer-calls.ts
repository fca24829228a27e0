import { catalog } from '#base/catalog.ts'
import { Problem, type ErrorName } from '#base/errors.ts'
import { anyObject } from '#base/json-fields.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import { call, serve } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

/** What other gateway processes may ask this one. Arguments and results are JSON, and may contain bytes. */
export type PeerMethods = Readonly<Record<string, (argument: never) => Promise<unknown>>>

const CALL_MS = 15_000
/** A page of requests, or a capture with its bodies. */
const MAX_BYTES = 64 * 1_048_576
const BYTES = '$bytes'

interface Answer {
  readonly result?: unknown
  readonly problem?: { readonly code: ErrorName; readonly values: Problem['values'] }
  readonly Error?: string
}

const packed = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map(packed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, packed(each)]))
}

const unpacked = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(unpacked)
  if (BYTES in value) return Buffer.from(String(value[BYTES]), 'base64')
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, unpacked(each)]))
}

/** Calls a method of another process; rejects with its Problem. */
export async function callPeer<Result>(link: MuxSession, method: string, argument: unknown): Promise<Result> {
  const request = { method, argument: packed(argument) }
  const answer = (await call(
    link,
    { type: streamTypes.peerCall, request, answer: anyObject },
    { deadlineMs: CALL_MS, limit: MAX_BYTES },
  )) as Answer
  if (answer.problem !== undefined) throw problemOf(answer.problem)
  if (answer.Error !== undefined) throw new Error(answer.Error)
  return unpacked(answer.result) as Result
}

/** A later version may have errors that this one cannot name. */
const problemOf = ({ code, values }: NonNullable<Answer['problem']>): Error =>
  Object.hasOwn(catalog, code)
    ? new Problem(code, values)
    : new Error(`The other process reports the error ${code}.`)

/** Responds to a call. A version without the method responds with an error. */
export function serveCall(stream: TunnelStream, methods: PeerMethods): Promise<void> {
  const handle = async (request: Readonly<Record<string, unknown>>): Promise<object> => {
    const name = String(request['method'])
    const method = Object.hasOwn(methods, name) ? methods[name] : undefined
    if (method === undefined) return { Error: `There is no method ${name}.` }
    try {
      return { result: packed(await method(unpacked(request['argument']) as never)) }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { problem: { code: error.code, values: error.values } }
    }
  }
  return serve(stream, { request: anyObject, handle }, { limit: MAX_BYTES })
}
