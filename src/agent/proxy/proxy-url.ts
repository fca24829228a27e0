import { isIP } from 'node:net'
import { AgentError } from '#agent/agent-error.ts'
import { Problem } from '#base/errors.ts'
import { isLoopbackHost } from '#base/hosts.ts'

/** A proxy for the connection to the gateway. */
export interface Proxy {
  readonly kind: 'http' | 'https' | 'socks5'
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  /** How it is displayed: without the password. */
  readonly text: string
}

const kinds: Readonly<Record<string, { readonly kind: Proxy['kind']; readonly port: number }>> = {
  'http:': { kind: 'http', port: 80 },
  'https:': { kind: 'https', port: 443 },
  'socks5:': { kind: 'socks5', port: 1080 },
  'socks5h:': { kind: 'socks5', port: 1080 },
}

/** Reads `http://user:password@host:port` or `socks5://host:port`; undefined when it is neither. */
export function parseProxy(text: string): Proxy | undefined {
  const url = URL.parse(text)
  const scheme = kinds[url?.protocol ?? '']
  if (!url || !scheme || url.hostname === '' || !['', '/'].includes(url.pathname)) return undefined
  const port = url.port === '' ? scheme.port : Number(url.port)
  return {
    kind: scheme.kind,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    user: decoded(url.username),
    password: decoded(url.password),
    text: `${scheme.kind}://${url.hostname}:${port}`,
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The proxy for a gateway: the given one, else that of the environment, which loopback never needs. */
export function proxyFor(
  host: string,
  given: string | undefined,
  environment: NodeJS.ProcessEnv,
): Proxy | undefined {
  const variable = (name: string): string => environment[name] || environment[name.toUpperCase()] || ''
  const usual = isLoopbackHost(host) || isExempt(host, variable('no_proxy'))
  const text =
    given ?? (usual ? '' : variable('https_proxy') || variable('all_proxy') || variable('http_proxy'))
  if (text === '') return undefined
  const proxy = parseProxy(text)
  if (proxy) return proxy
  const reason = 'cannot be used: its address must be http://host:port or socks5://host:port'
  throw AgentError.of(new Problem('agent_proxy', { proxy: text.replace(/\/\/.*@/, '//'), reason }), {
    permanent: true,
  })
}

/** `no_proxy` is a list of names, which include their subdomains, or `*`. */
const isExempt = (host: string, list: string): boolean =>
  list
    .split(',')
    .map(each =>
      each
        .trim()
        .toLowerCase()
        .replace(/^\*?\./, ''),
    )
    .some(
      each =>
        each === '*' ||
        (each !== '' &&
          (host.toLowerCase() === each || (isIP(host) === 0 && host.toLowerCase().endsWith(`.${each}`)))),
    )
