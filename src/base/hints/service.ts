/** The service behind a tunnel, as its agent has reported it. */
export interface Service {
  /** For people: `localhost:3000`. Of another machine only the port, because pages are public. */
  readonly address: string
  readonly port: number
  /** It is on the machine of the agent. */
  readonly isLocal: boolean
  readonly isEncrypted: boolean
}

const ADDRESS = /^(?:(https?|tcp|tls):\/\/)?(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253}):(\d{1,5})\/?$/i
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i

/** Agents report any text, so only a plain address is used; undefined for everything else. */
export function serviceOf(forwardsTo: string | undefined): Service | undefined {
  const [, scheme = '', host = '', digits = ''] = ADDRESS.exec(forwardsTo ?? '') ?? []
  const port = Number(digits)
  if (port < 1 || port > 65_535) return undefined
  const isLocal = LOOPBACK.test(host)
  return {
    address: isLocal ? `${host.toLowerCase()}:${port}` : `port ${port} of its machine`,
    port,
    isLocal,
    isEncrypted: /^(?:https|tls)$/i.test(scheme),
  }
}
