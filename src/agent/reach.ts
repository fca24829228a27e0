import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { AgentError } from '#agent/agent-error.ts'
import { httpConnect } from '#agent/proxy/http-connect.ts'
import { ProxyError } from '#agent/proxy/proxy-error.ts'
import { proxyFor } from '#agent/proxy/proxy-url.ts'
import { socks5 } from '#agent/proxy/socks5.ts'
import { Problem } from '#base/errors.ts'

/** A TCP connection to the gateway, through a proxy if there is one. */
export async function reach(
  target: { readonly host: string; readonly port: number },
  proxyUrl: string | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const proxy = proxyFor(target.host, proxyUrl, process.env)
  if (proxy === undefined) {
    const socket = connect(target)
    try {
      await once(socket, 'connect', { signal })
      return socket
    } catch (error) {
      socket.on('error', () => undefined).destroy()
      throw error
    }
  }
  try {
    return await (proxy.kind === 'socks5' ? socks5 : httpConnect)(proxy, target, signal)
  } catch (error) {
    const { code, message, name } = error as NodeJS.ErrnoException
    const late = name === 'AbortError' || name === 'TimeoutError'
    const why = late ? 'no response in time' : (code ?? message)
    const reason =
      error instanceof ProxyError ? message : `cannot be reached: ${why}. Check proxy_url or https_proxy`
    throw AgentError.of(new Problem('agent_proxy', { proxy: proxy.text, reason }), { cause: error })
  }
}
