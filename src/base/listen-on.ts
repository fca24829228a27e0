import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, isIPv6, type Server } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { AddressSetting } from '#base/setting-values.ts'
import { StartError } from '#base/start-error.ts'

/** True while another process of this server may have the same ports open. */
export type SharesPorts = () => boolean

export interface ListenOn {
  readonly host: string
  readonly port: number
  readonly backlog?: number
}

/** Node rejects the option on other systems. */
const PLATFORMS: ReadonlySet<string> = new Set(['aix', 'freebsd', 'linux', 'sunos'])

/** Whether several processes can listen on one port. */
export const canSharePorts = PLATFORMS.has(process.platform)

const never: SharesPorts = () => false

/**
 * Opens a listener so that a successor of this process can open the same port before this one closes it. Rejects with
 * the system's error. A port that another program has open is EADDRINUSE, unless ports are shared at the moment.
 */
export async function listenOn(
  server: Server,
  options: ListenOn,
  shares: SharesPorts = never,
): Promise<void> {
  if (isClaimed(options, shares)) await claim(options)
  server.listen({ ...options, reusePort: canSharePorts })
  await once(server, 'listening')
}

/** A busy server must not delay the shutdown. */
const MAX_DRAIN_MS = 2000
/** A connection that the system queues after the poll of a turn is lost, so the last turn must be short. */
const SHORT_TURN_MS = 0.1

/**
 * Accepts the connections that the system has already queued: closing the listener would reset them. Linux moves
 * connections that arrive in the last microseconds to the successor's listener if net.ipv4.tcp_migrate_req is set.
 */
export async function acceptQueued(server: Server): Promise<void> {
  let accepted = 0
  const count = (): void => {
    accepted++
  }
  server.on('connection', count)
  // The rest of the current turn.
  await setImmediate()
  const start = performance.now()
  let [turnStart, before, isEmpty] = [start, accepted, false]
  while (server.listening && !isEmpty && turnStart - start < MAX_DRAIN_MS) {
    await setImmediate()
    const turnEnd = performance.now()
    isEmpty = accepted === before && turnEnd - turnStart < SHORT_TURN_MS
    before = accepted
    turnStart = turnEnd
  }
  server.off('connection', count)
}

/** The same as `listenOn` for UDP. */
export async function bindOn({ host, port }: ListenOn, shares: SharesPorts = never): Promise<UdpSocket> {
  if (isClaimed({ host, port }, shares)) {
    const alone = udpSocket(host, false)
    await bound(alone, host, port)
    alone.close()
    await once(alone, 'close')
  }
  const udp = udpSocket(host, canSharePorts)
  await bound(udp, host, port)
  return udp
}

const isClaimed = ({ port }: ListenOn, shares: SharesPorts): boolean =>
  canSharePorts && port !== 0 && !shares()

/** A port with SO_REUSEPORT cannot be opened without it, so another program's port is detected. */
async function claim({ host, port }: ListenOn): Promise<void> {
  const alone = createServer().listen({ host, port })
  await once(alone, 'listening')
  alone.close()
  await once(alone, 'close')
}

const udpSocket = (host: string, reusePort: boolean): UdpSocket =>
  createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4', reusePort })

async function bound(socket: UdpSocket, host: string, port: number): Promise<void> {
  try {
    socket.bind(port, host)
    await once(socket, 'listening')
  } catch (error) {
    socket.close()
    throw error
  }
}

interface Trouble {
  readonly reason: string
  /** Advice besides setting another address; absent if there is none. */
  readonly remedy?: string
}

const troubles: Readonly<Record<string, Trouble>> = {
  EADDRINUSE: { reason: 'another program uses it', remedy: 'stop that program' },
  EACCES: {
    reason: 'this user may not open it',
    remedy: 'run as root or with the capability CAP_NET_BIND_SERVICE',
  },
  EADDRNOTAVAIL: { reason: 'this machine does not have that address' },
  ENOTFOUND: { reason: 'the name is unknown' },
}

/** Why a listener could not be opened, and which setting to change. */
export function cannotListen(error: unknown, { host, port }: AddressSetting, variable: string): StartError {
  const { code = '', message } = error as NodeJS.ErrnoException
  const { reason, remedy } = troubles[code] ?? { reason: message }
  const otherwise = `set ${variable}=HOST:PORT to another one, or ${variable}=off to disable it`
  const advice = remedy === undefined ? otherwise : `${remedy}, ${otherwise}`
  return new StartError(`cannot listen on ${host}:${port} (${variable}): ${reason}; ${advice}`)
}

/** The host at which this machine reaches a listener; wildcard binds have no host of their own. */
export const hostHere = ({ host }: AddressSetting): string =>
  host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
