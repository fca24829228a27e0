import { request } from 'node:http'
import type { Socket } from 'node:net'
import type { EgressAnswer } from '#base/egress.ts'
import { readAnswer } from '#base/egress/answer.ts'
import { failure } from '#base/egress/connect.ts'

/** One request to one URL; a redirect causes another. */
export interface Hop {
  readonly url: URL
  readonly method: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
}

export interface Limits {
  readonly maxBytes: number
  readonly signal: AbortSignal
}

const MAX_HEAD = 65_536

/** Sends a request on a separate connection, which is closed afterwards, and reads the whole response. */
export function send(socket: Socket, hop: Hop, { maxBytes, signal }: Limits): Promise<EgressAnswer> {
  const { url, method, headers, body } = hop
  return new Promise<EgressAnswer>((resolve, reject) => {
    const late = (): void => reject(signal.reason)
    signal.addEventListener('abort', late, { once: true })
    if (signal.aborted) late()
    const outgoing = request({
      createConnection: () => socket,
      maxHeaderSize: MAX_HEAD,
      method,
      path: url.pathname + url.search,
      headers: { ...headers, host: url.host },
      setHost: false,
    })
    outgoing.on('error', reject)
    outgoing.on('upgrade', () => reject(new Error('it switches protocols')))
    outgoing.on('response', answer => {
      readAnswer(answer, maxBytes).then(resolve, reject)
    })
    outgoing.end(body)
  })
    .catch((error: unknown) => {
      throw failure(`${url.origin} sent no valid response`, error)
    })
    .finally(() => socket.destroy())
}
