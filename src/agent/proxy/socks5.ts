import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import type { Proxy } from '#agent/proxy/proxy-url.ts'
import { ProxyError } from '#agent/proxy/proxy-error.ts'

const VERSION = 5
const NO_AUTHENTICATION = 0
const PASSWORD = 2
const CONNECT = 1
const ADDRESS_BYTES: Readonly<Record<number, number>> = { 1: 4, 4: 16 }
const DOMAIN = 3

/** RFC 1928 §6. */
const failures: Readonly<Record<number, string>> = {
  1: 'failed',
  2: 'does not allow connections to the gateway',
  3: 'cannot reach the network of the gateway',
  4: 'cannot reach the gateway',
  5: 'got no listener at the address of the gateway',
  6: 'timed out connecting to the gateway',
}

/** Opens a connection to a host through a SOCKS proxy (RFC 1928, RFC 1929); the proxy resolves the name. */
export async function socks5(
  proxy: Proxy,
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({ host: proxy.host, port: proxy.port, signal })
  // Between two responses nothing else listens for it.
  socket.on('error', () => undefined)
  try {
    await once(socket, 'connect', { signal })
    await signIn(socket, proxy)
    socket.write(Buffer.from([VERSION, CONNECT, 0, ...addressOf(host), port >> 8, port & 255]))
    const [, code = 1, , type = 1] = await take(socket, 4)
    if (code !== 0) throw new ProxyError(failures[code] ?? `rejected the connection with code ${code}`)
    const size = type === DOMAIN ? ((await take(socket, 1))[0] ?? 0) : (ADDRESS_BYTES[type] ?? 4)
    await take(socket, size + 2)
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function signIn(socket: Socket, { user, password }: Proxy): Promise<void> {
  const methods = user === '' ? [NO_AUTHENTICATION] : [NO_AUTHENTICATION, PASSWORD]
  socket.write(Buffer.from([VERSION, methods.length, ...methods]))
  const [version, method] = await take(socket, 2)
  if (version !== VERSION) throw new ProxyError('is not a SOCKS5 proxy')
  if (method === NO_AUTHENTICATION) return
  if (method !== PASSWORD || user === '')
    throw new ProxyError('requires a user name and password: write them as socks5://user:password@host:port')
  const [name, word] = [Buffer.from(user).subarray(0, 255), Buffer.from(password).subarray(0, 255)]
  socket.write(Buffer.from([1, name.length, ...name, word.length, ...word]))
  const [, status] = await take(socket, 2)
  if (status !== 0) throw new ProxyError('does not accept the user name and password')
}

function addressOf(host: string): number[] {
  if (isIP(host) === 4) return [1, ...host.split('.').map(Number)]
  const name = Buffer.from(host)
  return [DOMAIN, name.length, ...name]
}

/** Exactly so many bytes; the rest stays in the socket. */
async function take(socket: Socket, size: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  let bytes = Buffer.alloc(0)
  const read = (chunk: Buffer): void => {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.length < size) return
    socket.off('data', read).pause()
    if (bytes.length > size) socket.unshift(bytes.subarray(size))
    resolve(bytes.subarray(0, size))
  }
  const lost = (): void => reject(new ProxyError('closed the connection in the middle of its response'))
  socket.on('data', read).once('close', lost).once('error', reject)
  socket.resume()
  try {
    return await promise
  } finally {
    socket.off('data', read).off('close', lost).off('error', reject)
  }
}
