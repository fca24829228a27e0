import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { byteRange, type ByteRange } from '#agent/files/byte-range.ts'
import { contentType } from '#agent/files/content-types.ts'
import { openFile, type OpenedFile } from '#agent/files/open-file.ts'
import type { OnRequest } from '#agent/request-tap.ts'

/** Serves the files of one folder. It lists no folders and follows no link outside. */
export class FileServer {
  readonly #root: string
  readonly #server: Server
  readonly #seen = new WeakMap<Duplex, OnRequest>()

  /** `root` is an absolute path without links. */
  constructor(root: string) {
    this.#root = root
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  /** Takes a connection of a gateway. `seen` is called after each response. */
  serve(stream: Duplex, seen: OnRequest | undefined): void {
    if (seen) this.#seen.set(stream, seen)
    this.#server.emit('connection', stream)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#watch(request, response)
    try {
      await this.#send(request, response)
    } catch {
      // The client disconnected, or the file became unreadable: the announced length cannot be sent.
      response.destroy()
    }
  }

  #watch(request: IncomingMessage, response: ServerResponse): void {
    const seen = this.#seen.get(request.socket)
    if (seen === undefined) return
    const begun = performance.now()
    const { method = '', url = '' } = request
    response.once('close', () =>
      seen({ method, path: url, status: response.statusCode, durationMs: performance.now() - begun }),
    )
  }

  async #send(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      sendText(response.setHeader('allow', 'GET, HEAD'), 405, 'Only GET and HEAD are allowed here.\n')
      return
    }
    const [pathname = ''] = (request.url ?? '').split('?', 1)
    const found = await openFile(this.#root, pathname)
    if (found === undefined) sendText(response, 404, 'There is no such file here.\n')
    else if ('redirect' in found)
      sendText(response.setHeader('location', found.redirect), 301, 'This is a folder.\n')
    else await sendFile(request, response, found)
  }
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text)
}

async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { handle, stats, path }: OpenedFile,
): Promise<void> {
  await using _ = handle
  const { size, mtime } = stats
  const tag = `"${size.toString(16)}-${Math.floor(mtime.getTime()).toString(16)}"`
  const modified = new Date(Math.floor(mtime.getTime() / 1000) * 1000)
  response
    .setHeader('etag', tag)
    .setHeader('last-modified', modified.toUTCString())
    .setHeader('accept-ranges', 'bytes')
    .setHeader('x-content-type-options', 'nosniff')
  if (isKnown(request, tag, modified)) {
    response.writeHead(304).end()
    return
  }
  const range = mayUseRange(request, tag, modified) ? byteRange(request.headers.range, size) : undefined
  if (range === 'unsatisfiable') {
    sendText(response.setHeader('content-range', `bytes */${size}`), 416, 'The file is not that long.\n')
    return
  }
  response.setHeader('content-type', contentType(path))
  await sendBytes(request, response, { handle, size, range })
}

async function sendBytes(
  { method }: IncomingMessage,
  response: ServerResponse,
  { handle, size, range }: Pick<OpenedFile, 'handle'> & { size: number; range: ByteRange | undefined },
): Promise<void> {
  const { first, last } = range ?? { first: 0, last: size - 1 }
  const length = last - first + 1
  response.setHeader('content-length', length)
  if (range) response.setHeader('content-range', `bytes ${first}-${last}/${size}`)
  response.writeHead(range ? 206 : 200)
  if (method === 'HEAD' || length === 0) {
    response.end()
    return
  }
  const content = handle.createReadStream({ start: first, end: last, autoClose: false })
  await pipeline(content, response, { end: false })
  // The file became shorter meanwhile.
  if (content.bytesRead < length) response.destroy()
  else response.end()
}

/** Whether the client already has this file (RFC 9110 §13.2.2). */
function isKnown({ headers }: IncomingMessage, tag: string, modified: Date): boolean {
  const tags = headers['if-none-match']
  if (tags !== undefined) return tags.split(',').some(each => ['*', tag, `W/${tag}`].includes(each.trim()))
  const since = Date.parse(headers['if-modified-since'] ?? '')
  return modified.getTime() <= since
}

/** A range of a file that has changed since is useless to the client. */
function mayUseRange({ headers }: IncomingMessage, tag: string, modified: Date): boolean {
  const condition = headers['if-range']
  return (
    condition === undefined || condition === tag || Date.parse(condition.toString()) === modified.getTime()
  )
}
