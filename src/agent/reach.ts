import { once } from 'node:events'
import { lookup } from 'node:dns'
import { connect, type LookupFunction, type Socket } from 'node:net'
import { AgentError } from '#agent/agent-error.ts'
import { httpConnect } from '#agent/proxy/http-connect.ts'
import { ProxyError } from '#agent/proxy/proxy-error.ts'
import { proxyFor } from '#agent/proxy/proxy-url.ts'
import { socks5 } from '#agent/proxy/socks5.ts'
import { Problem } from '#base/errors.ts'

// By default Node abandons an address after 250 ms, less than a round trip over some links, or a pause of this process.
const NEXT_ADDRESS_MS = 2500

/** The addresses of a name, of which each attempt begins with another one. */
const rotatedLookup =
  (attempt: number): LookupFunction =>
  (name, options, done) =>
    lookup(name, { ...options, all: true }, (error, found) => {
      const at = found === undefined || found.length === 0 ? 0 : attempt % found.length
      const addresses = [...(found ?? []).slice(at), ...(found ?? []).slice(0, at)]
      if (error !== null || options.all === true) done(error, addresses)
      else done(null, addresses[0]?.address ?? '', addresses[0]?.family)
    })

/** A TCP connection to the gateway, through a proxy if there is one. */
export async function reach(
  target: { readonly host: string; readonly port: number },
  { proxyUrl, attempt = 0 }: { readonly proxyUrl: string | undefined; readonly attempt?: number },
  signal: AbortSignal,
): Promise<Socket> {
  const proxy = proxyFor(target.host, proxyUrl, process.env)
  if (proxy === undefined) {
    const socket = connect({
      ...target,
      lookup: rotatedLookup(attempt),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    })
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
