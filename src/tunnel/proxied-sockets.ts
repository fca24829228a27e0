import { isIPv6, type Socket } from 'node:net'
import { plainAddress } from '#base/addresses.ts'
import type { Log } from '#base/log.ts'
import { NetworkSet } from '#base/network-set.ts'
import type { ProxiedListener } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { parseProxyHeader, proxyHeaderLength, type ProxiedAddresses } from '#tunnel/proxy-protocol.ts'

const DEADLINE_MS = 5000
/** Headers that are awaited at once; a load balancer sends its header with the first packet. */
const MAX_PENDING = 2048
const WARN_EVERY_MS = 1000

interface ProxiedSocketsOptions {
  readonly settings: Pick<Settings, 'proxy_protocol' | 'proxy_protocol_listeners'>
  readonly listener: ProxiedListener
  readonly log: Log
  readonly deadlineMs?: number
}

/** Connections through load balancers that send the PROXY protocol: each gets the addresses of its header. */
export class ProxiedSockets {
  readonly #options: ProxiedSocketsOptions
  readonly #networks: NetworkSet
  #pending = 0
  #warnedAt = -Infinity

  constructor(options: ProxiedSocketsOptions) {
    this.#options = options
    this.#networks = new NetworkSet(() => options.settings.proxy_protocol)
  }

  /** Calls `accept` once the addresses of the socket are those of its client; rejected connections are closed. */
  receive(socket: Socket, accept: (socket: Socket) => void): void {
    const { settings, listener } = this.#options
    if (this.#networks.isEmpty || !settings.proxy_protocol_listeners.includes(listener)) {
      accept(socket)
      return
    }
    socket.on('error', () => undefined)
    const ip = plainAddress(socket.remoteAddress ?? '')
    if (!this.#networks.has(ip)) this.#reject(socket, ip, 'it is not from a network of proxy_protocol')
    else if (this.#pending >= MAX_PENDING) this.#reject(socket, ip, 'too many PROXY headers are awaited')
    else this.#read(socket, ip, accept)
  }

  #read(socket: Socket, ip: string, accept: (socket: Socket) => void): void {
    let read = Buffer.alloc(0)
    this.#pending++
    const leave = (): void => {
      this.#pending--
      clearTimeout(timer)
      socket.off('data', take).off('end', ended).off('close', leave)
    }
    const reject = (reason: string): void => {
      leave()
      this.#reject(socket, ip, reason)
    }
    const ended = (): void => reject('it ended before its PROXY header')
    const take = (bytes: Buffer): void => {
      read = Buffer.concat([read, bytes])
      try {
        const length = proxyHeaderLength(read)
        if (length === undefined) return
        setAddresses(socket, parseProxyHeader(read.subarray(0, length)))
        leave()
        socket.pause()
        if (read.length > length) socket.unshift(read.subarray(length))
        accept(socket)
      } catch (error) {
        reject(error instanceof Error ? error.message : String(error))
      }
    }
    const { deadlineMs = DEADLINE_MS } = this.#options
    const timer = setTimeout(() => reject(`no PROXY header came within ${deadlineMs} ms`), deadlineMs)
    socket.on('data', take).on('end', ended).on('close', leave)
  }

  #reject(socket: Socket, ip: string, reason: string): void {
    socket.resetAndDestroy()
    const { log, listener } = this.#options
    if (performance.now() - this.#warnedAt < WARN_EVERY_MS) return
    this.#warnedAt = performance.now()
    log.warn({ ip, listener, reason }, 'a connection was rejected')
  }
}

/** Every reader of the socket's addresses, also in libraries, gets those of the client. */
function setAddresses(socket: Socket, addresses: ProxiedAddresses): void {
  if (addresses === undefined) return
  const { source, destination } = addresses
  Object.defineProperties(socket, {
    remoteAddress: { value: source.ip },
    remotePort: { value: source.port },
    remoteFamily: { value: isIPv6(source.ip) ? 'IPv6' : 'IPv4' },
    localAddress: { value: destination.ip },
    localPort: { value: destination.port },
  })
}
