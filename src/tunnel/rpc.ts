import { type FieldReader, type JsonObject, MessageError } from '#base/json-fields.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { JsonCollector } from '#tunnel/json-value.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

export interface RpcOptions {
  /** Timeout for the peer's message. */
  readonly deadlineMs?: number
  /** Largest accepted message; policies and certificate bundles are sent in these. */
  readonly limit?: number
}

const DEADLINE_MS = 30_000
const LIMIT = 1_048_576
// One agent family responds without ever finishing the stream; the other needs a moment for its FIN.
const FINISH_MS = 1000

const encode = (message: object): Buffer => Buffer.from(JSON.stringify(message))

/** One JSON object from the peer, which need not have finished its direction. */
async function readMessage(stream: TunnelStream, options: RpcOptions): Promise<JsonObject> {
  const { deadlineMs = DEADLINE_MS, limit = LIMIT } = options
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject>()
  const collector = new JsonCollector(limit)
  let settled = false
  const timer = setTimeout(
    () => reject(new TunnelError('write_timeout', `No message came within ${deadlineMs} ms.`)),
    deadlineMs,
  )
  stream.attach({
    data: bytes => {
      // What follows the message (such as a line break) has no meaning.
      if (settled) return
      try {
        const message = collector.push(bytes)
        if (message === undefined) return
        resolve(message)
      } catch (error) {
        reject(error)
      }
      settled = true
    },
    // An error is expensive to make, and every stream ends.
    end: () => {
      if (!settled) reject(new MessageError('The message ended before it was complete.'))
    },
    closed: error => {
      if (!settled) reject(error ?? new MessageError('The stream was closed.'))
    },
  })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}

/** Frees a stream after its exchange, even if the peer never finishes it. */
function release(stream: TunnelStream): void {
  stream.abort()
  if (!stream.closed) setTimeout(() => stream.reset('stream_cancelled'), FINISH_MS).unref()
}

/** Sends a request and reads its response. An error is in its `Error`. */
export async function call<Answer>(
  session: MuxSession,
  {
    type,
    request,
    answer,
  }: { readonly type: number; readonly request: object; readonly answer: FieldReader<Answer> },
  options: RpcOptions = {},
): Promise<Answer> {
  const stream = await session.open(type, encode(request))
  try {
    return answer(await readMessage(stream, options), '')
  } finally {
    release(stream)
  }
}

/**
 * Responds to a request of the peer: one JSON object, and FIN with it. An invalid message and a handler that throws get
 * a response with `Error`; the promise then rejects, so that the caller can report it.
 */
export async function serve<Request>(
  stream: TunnelStream,
  {
    request,
    handle,
  }: { readonly request: FieldReader<Request>; readonly handle: (request: Request) => Promise<object> },
  options: RpcOptions = {},
): Promise<void> {
  try {
    const message = request(await readMessage(stream, options), '')
    stream.end(encode(await handle(message)))
  } catch (error) {
    const text =
      error instanceof MessageError || error instanceof TunnelError ? error.message : 'Internal error.'
    stream.end(encode({ Error: text }))
    throw error
  }
}
