import { request as requestPlain, type IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import type { Socket } from 'node:net'
import type { Proxy } from '#agent/proxy/proxy-url.ts'
import { ProxyError } from '#agent/proxy/proxy-error.ts'

const reasons: Readonly<Record<number, string>> = {
  407: 'requires a user name and password: write them as http://user:password@host:port',
  403: 'does not allow connections to the gateway: ask its operator, or use a port that it allows, such as 443',
}

/** Opens a connection to a host through a proxy with the method CONNECT. */
export async function httpConnect(
  proxy: Proxy,
  target: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`
  const credentials = Buffer.from(`${proxy.user}:${proxy.password}`).toString('base64')
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const request = (proxy.kind === 'https' ? requestTls : requestPlain)({
    host: proxy.host,
    port: proxy.port,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(proxy.user !== '' && { 'proxy-authorization': `Basic ${credentials}` }) },
    agent: false,
    signal,
  })
  request.once('connect', ({ statusCode = 0 }: IncomingMessage, socket: Socket, head: Buffer) => {
    if (statusCode === 200) {
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
      return
    }
    socket.destroy()
    reject(new ProxyError(reasons[statusCode] ?? `rejected the connection with status ${statusCode}`))
  })
  request.once('response', response => {
    response.destroy()
    reject(new ProxyError('is not a proxy: it responded to CONNECT like a web server'))
  })
  request.once('error', reject)
  request.end()
  return promise
}
