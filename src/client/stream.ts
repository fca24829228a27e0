import { responseError, type StreamSend } from '#client/send.ts'
import type { DroppedListener, StreamOptions } from '#client/types.ts'
import { DROPPED, type Stream } from '#contract/streams.ts'

interface Message {
  readonly event: string
  readonly data: string
}

/**
 * The messages of a stream of server-sent events. Written by hand: browsers' EventSource cannot send a token, and
 * Node's is experimental.
 */
async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of chunks(body)) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const message = messageOf(block)
      if (message !== undefined) yield message
    }
  }
}

/** By a reader: not every browser iterates over streams. */
async function* chunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
  } finally {
    await reader.cancel()
  }
}

/** Undefined for a comment, which only shows that the connection is alive. */
function messageOf(block: string): Message | undefined {
  const fields = block.split(/\r?\n/).map(line => /^(\w+): ?(.*)$/.exec(line))
  const values = (name: string): string[] =>
    fields.flatMap(field => (field?.[1] === name ? [field[2] ?? ''] : []))
  const data = values('data')
  return data.length === 0 ? undefined : { event: values('event').at(-1) ?? 'message', data: data.join('\n') }
}

const reportDropped = (data: string, dropped: DroppedListener | undefined): void =>
  dropped?.((JSON.parse(data) as { count: number }).count)

/** The items of a stream, until the server ends it or `signal` aborts. */
export async function* streamItems(
  { path, event }: Stream,
  send: StreamSend,
  filters: Readonly<Record<string, string | undefined>> = {},
  { signal, dropped, opened }: StreamOptions = {},
): AsyncGenerator<unknown, void> {
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const response = await send(path, new URLSearchParams(given), signal)
  if (!response.ok || response.body === null) throw responseError(response, await response.text())
  opened?.()
  try {
    for await (const message of messages(response.body)) {
      if (message.event === event) yield JSON.parse(message.data)
      else if (message.event === DROPPED.event) reportDropped(message.data, dropped)
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error
  }
}
