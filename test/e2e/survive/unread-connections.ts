import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { frame, FRAME, headers, uint32 } from '../../http/http2/raw-peer.ts'
import { isLongRun } from './measurements.ts'
import { HOST, type World } from './world.ts'

/** More than fits on the way to a client without a window, and to a socket that is not read. */
const BULK = '/bulk?bytes=400000'
const LARGER_BULK = '/bulk?bytes=3000000'
const STREAMS = 100
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const SETTINGS_INITIAL_WINDOW_SIZE = Buffer.from([0, 4])

/** A client that opens as many of an agent's connections as it can and does not read them. */
type Attack = (world: World, localAddress: string) => Promise<Socket>

const bulk: [string, string][] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', HOST],
  [':path', BULK],
]

/** A hundred requests for something large on one connection, and a window of nothing for each. */
const unreadStreams: Attack = async (world, localAddress) => {
  const socket = (await world.connect('https', { alpn: ['h2'], localAddress })) as TLSSocket
  const settings = Buffer.concat([SETTINGS_INITIAL_WINDOW_SIZE, uint32(0)])
  socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0, settings), frame(FRAME.settings, 1, 0)]))
  for (let at = 0; at < STREAMS; at++) socket.write(headers(2 * at + 1, bulk, { endStream: true }))
  // What comes is nothing but heads; unread it would stop the connection itself.
  socket.resume()
  return socket
}

const send =
  (text: string): Attack =>
  async (world, localAddress) => {
    const socket = await world.connect('http', { localAddress })
    socket.pause()
    socket.write(text)
    return socket
  }

/** The attacks, and how many connections of each fill an agent. */
export const attacks: Readonly<Record<string, { readonly attack: Attack; readonly connections: number }>> = {
  'streams of HTTP/2 without a window': { attack: unreadStreams, connections: isLongRun ? 20 : 10 },
  'answers of HTTP/1 that are not read': {
    attack: send(`GET ${LARGER_BULK} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`),
    // From one address they are as many as it may have; each takes megabytes on its way.
    connections: isLongRun ? 1000 : 500,
  },
  'uploads that stop': {
    attack: send(`POST /sink HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 1000000\r\n\r\nthe first of it`),
    connections: 1000,
  },
  'WebSockets that say nothing': {
    attack: send(
      `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    ),
    connections: 1000,
  },
}

/** Different loopback addresses, none of them used by the legitimate clients. */
export const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, number) => `127.0.0.${number + 10}`)
