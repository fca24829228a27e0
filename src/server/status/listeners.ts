import type { AddressSetting } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { listenerNames, type ServerStatus } from '#contract/status.ts'

type ListenerName = (typeof listenerNames)[number]

/** Where listeners are open; absent ones are off. */
export type Bound = Partial<Record<ListenerName, AddressSetting>>

const hostPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

const url = (scheme: 'http' | 'https', host: string, port: number): string =>
  port === (scheme === 'http' ? 80 : 443) ? `${scheme}://${host}` : `${scheme}://${host}:${port}`

/** The open listeners. Where they listen is not shown to members, who need only the public address. */
export function listenersOf(settings: Settings, bound: Bound, isAdmin: boolean): ServerStatus['listeners'] {
  return listenerNames.flatMap(name => {
    const address = bound[name]
    if (address === undefined) return []
    const shown = isAdmin ? hostPort(address.host, address.port) : null
    return [{ name, address: shown, public_address: publicAddress(name, settings, address.port) }]
  })
}

function publicAddress(name: ListenerName, settings: Settings, port: number): string {
  const { domain } = settings
  switch (name) {
    case 'api':
      return settings.api_url ?? url('http', 'localhost', port)
    case 'http':
      return url('http', domain, settings.public_http_port ?? port)
    case 'https':
      return url('https', domain, settings.public_https_port ?? port)
    case 'agent':
    case 'ssh':
    case 'dns':
      return hostPort(domain, port)
  }
}
