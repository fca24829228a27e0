import { fail } from '#base/errors.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { connectionFilter, isSet, type Modules } from '#gateway/modules/index.ts'
import type { ModuleContext } from '#http/module-context.ts'
import { agentAuthorities } from '#tls/agent-authorities.ts'
import { terminationIdentity } from '#tls/tls-termination.ts'
import { type AgentModule, agentModules } from '#tunnel/agent-modules.ts'
import type { BindOptions } from '#tunnel/messages.ts'

export type Proto = 'http' | 'https' | 'tcp' | 'tls'
const protos: readonly string[] = ['http', 'https', 'tcp', 'tls'] satisfies Proto[]

const web: readonly Proto[] = ['http', 'https']
const any: readonly Proto[] = ['http', 'https', 'tcp', 'tls']
const none: readonly Proto[] = []

const moduleProtos = Object.fromEntries(
  Object.entries(agentModules).map(([name, { protos: usableAt }]) => [name, usableAt]),
) as Record<AgentModule, readonly Proto[]>

/** Where each option can be used. An option elsewhere is rejected, never ignored silently. */
const usable: Readonly<Record<keyof BindOptions, readonly Proto[]>> = {
  // The address; read by `wantedAddress`, options of other protocols are ignored.
  URL: any,
  Domain: any,
  Hostname: any,
  Subdomain: any,
  Addr: any,
  // Descriptions by the agent.
  LocalUrlScheme: any,
  // Traffic options.
  Auth: web,
  HostHeaderRewrite: web,
  ProxyProto: any,
  Capture: web,
  MutualTLSAtEdge: ['tls'],
  TLSTermination: ['tls'],
  ...moduleProtos,
  MutualTLSAtAgent: none,
  Policy: none,
  TrafficPolicy: none,
}

/** Placeholder context, to validate options before the tunnel exists. */
const unbound: ModuleContext = {
  id: 'a tunnel that is not bound yet',
  dial: () => Promise.reject(new DialError('offline', 'The tunnel is not bound yet.')),
}

export const readProto = (text: string): Proto =>
  protos.includes(text) ? (text as Proto) : fail('bind_protocol', { proto: text })

/** Rejects options that this gateway cannot serve on such an endpoint, or whose content is invalid. */
export function checkOptions(proto: Proto, options: BindOptions, modules: Modules): void {
  for (const [option, places] of Object.entries(usable)) {
    if (!isSet(options[option as keyof BindOptions]) || places.includes(proto)) continue
    const reason = places.length === 0 ? 'this server does not have it' : `it does not apply to ${proto}`
    fail('bind_option', { option, reason })
  }
  if (![0, 1, 2].includes(options.ProxyProto))
    fail('bind_option', { option: 'ProxyProto', reason: 'the versions are 1 and 2' })
  // Compiled once for validation: the tunnel compiles it again.
  if (web.includes(proto)) modules.build({ rows: [], agent: options }, unbound)
  else connectionFilter(options)
  agentAuthorities(options)
  if (options.TLSTermination) terminationIdentity(options.TLSTermination)
}

/** Fields next to the options that restrict access. */
export function checkExtras(extra: {
  readonly IPPolicyRef: string
  readonly Bindings: readonly string[]
}): void {
  if (extra.IPPolicyRef !== '')
    fail('bind_option', { option: 'IPPolicyRef', reason: 'this server does not have it' })
  const narrow = extra.Bindings.find(binding => binding !== '' && binding !== 'public')
  // An internal endpoint must not become public.
  if (narrow !== undefined)
    fail('bind_option', {
      option: 'Bindings',
      reason: `this server has only public endpoints, not "${narrow}"`,
    })
}
