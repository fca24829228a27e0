import { AgentError } from '#agent/agent-error.ts'
import { folderOf } from '#agent/files/folder.ts'
import { readEndpoint } from '#agent/endpoint.ts'
import { readTarget } from '#agent/target.ts'
import { isPlainObject } from '#base/plain-object.ts'
import { endpointsOf, planOf } from '#cli/agent/plan.ts'
import type { NamedPlan } from '#cli/agent/tunnel-plan.ts'
import type { TunnelKind } from '#tunnel/tunnel-option.ts'
import type { OptionKey } from '#tunnel/tunnel-options.ts'
import { ApiFailure } from '#cli/agent/web/api-failure.ts'
import { hostedOptions, OptionError } from '#cli/agent/web/hosted-options.ts'

const MAX_NAME = 256
const kinds: readonly string[] = ['http', 'tcp', 'tls'] satisfies TunnelKind[]

export const invalid = (err: string): never => {
  throw new ApiFailure('bad_tunnel', err)
}

export function nameOf(value: unknown): string {
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (typeof value === 'string' && value !== '' && !/[\u0000-\u001f\u007f]/.test(value)) {
    if (value.length <= MAX_NAME) return value
    return invalid(`name: may have at most ${MAX_NAME} characters`)
  }
  return invalid('name: must be a text without control characters, such as "web"')
}

/** Reads the body of `POST /api/tunnels`. */
export function readTunnelBody(body: unknown): NamedPlan {
  if (!isPlainObject(body)) return invalid('the body must be a JSON object')
  const { proto, addr, ...rest } = body
  const name = nameOf(body['name'])
  const kind = kindOf(proto, rest)
  return { name, plan: plan(kind, targetOf(addr, kind), rest) }
}

function kindOf(proto: unknown, { labels }: Readonly<Record<string, unknown>>): TunnelKind {
  if ((proto === undefined || proto === null) && labels !== undefined && labels !== null) return 'tunnel'
  if (typeof proto === 'string' && kinds.includes(proto)) return proto as TunnelKind
  const shown = proto === undefined ? 'none was given' : `not ${JSON.stringify(proto).slice(0, 100)}`
  return invalid(`proto: the protocol name must be one of http, tcp, tls; ${shown}`)
}

/** Port 443 alone means a TLS upstream. */
const secure: Readonly<Record<string, string>> = { http: 'https://localhost:443', tls: 'tls://localhost:443' }

function targetOf(addr: unknown, kind: TunnelKind): string {
  const text = typeof addr === 'number' ? String(addr) : addr
  if (typeof text !== 'string' || text.trim() === '')
    return invalid('addr: must be a port, host:port or a URL, such as 8080')
  return text.trim() === '443' ? (secure[kind] ?? text) : text
}

/** Parses options, with all checks that need no gateway. */
export function plan(
  kind: TunnelKind,
  target: string,
  given: Readonly<Record<string, unknown>>,
): NamedPlan['plan'] {
  try {
    const proto = kind === 'tunnel' ? '' : kind
    if (folderOf(target, proto) === undefined) readTarget(target, proto)
    const options = hostedOptions(given)
    // Wrappers send it for every protocol.
    if (kind === 'tcp' || kind === 'tls') options.delete('inspect')
    const isPlain = kind === 'http' && !options.has('schemes') && !options.has('url')
    if (isPlain) options.set('schemes', ['https'])
    const read = planOf(kind, target, options, (key: OptionKey, complaint) => invalid(`${key} ${complaint}`))
    for (const endpoint of endpointsOf(read, false)) readEndpoint(endpoint)
    return read
  } catch (error) {
    if (error instanceof AgentError || error instanceof OptionError) return invalid(error.message)
    throw error
  }
}
