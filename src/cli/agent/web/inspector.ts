import { AgentError } from '#agent/agent-error.ts'
import { CaptureStore, defaultLimits } from '#agent/capture/capture-store.ts'
import { agentVersion } from '#agent/sign-in.ts'
import type { AgentSettings } from '#cli/agent/agent-settings.ts'
import type { RunningTunnels } from '#cli/agent/running-tunnels.ts'
import { WebAddressError } from '#cli/agent/web/listen.ts'
import { LocalApi, type LocalApiOptions } from '#cli/agent/web/local-api.ts'
import { WebServer } from '#cli/agent/web/web-server.ts'

/** Where requests are captured; undefined when nothing shows them. */
export function captureStore(settings: AgentSettings): CaptureStore | undefined {
  const { web_addr: address, inspect, inspect_db_size: size } = settings
  if (address?.value === false || inspect?.value === false || size.value === -1) return undefined
  return new CaptureStore(size.value === 0 ? defaultLimits : { ...defaultLimits, maxBytes: size.value })
}

type InspectorOptions = Omit<LocalApiOptions, 'captures' | 'version'> & {
  readonly captures: CaptureStore | undefined
}

/** Starts the web server of the agent; undefined when it is disabled. */
export async function startInspector(
  settings: AgentSettings,
  options: InspectorOptions,
): Promise<WebServer | undefined> {
  const { web_addr: address, web_allow_hosts: hosts } = settings
  if (address?.value === false) return undefined
  const captures = options.captures ?? new CaptureStore()
  try {
    return await WebServer.start({
      api: new LocalApi({ ...options, captures, version: agentVersion }),
      captures,
      address: address?.value,
      allowHosts: hosts?.value ?? [],
      hostsOf: local => hostsOf(options.tunnels, local),
    })
  } catch (error) {
    throw error instanceof WebAddressError ? new AgentError(error.message, { permanent: true }) : error
  }
}

/** Public host names of the tunnels that forward to a port of this machine. */
const hostsOf = (tunnels: RunningTunnels, address: string): string[] => {
  const port = address.slice(address.lastIndexOf(':'))
  return tunnels.list().flatMap(({ tunnel }) => {
    const isOwn = /^(\w+:\/\/)?(localhost|127\.0\.0\.1|\[::1\]):\d+$/.test(tunnel.forwardsTo)
    const host = URL.parse(tunnel.url)?.hostname
    return isOwn && tunnel.forwardsTo.endsWith(port) && host !== undefined ? [host] : []
  })
}
