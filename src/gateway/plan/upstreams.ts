import type { TunnelRecord } from '#gateway/directory.ts'
import { DialError, type Fleet } from '#gateway/fleet.ts'
import type { Upstream } from '#gateway/listeners/forward.ts'
import type { Guest } from '#gateway/listeners/visitor.ts'
import { connectionFilter } from '#gateway/modules/index.ts'
import type { TunnelGroup } from '#gateway/plan/tunnel-group.ts'

const clientAddress = ({ ip, port }: Guest): string =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`

/** Connections without HTTP to a tunnel with an address of its own. */
export function tunnelUpstream(tunnel: TunnelRecord, fleet: Pick<Fleet, 'dial'>): Upstream {
  const { options, address, id } = tunnel
  const allows = connectionFilter(options)
  const Proto = address?.scheme ?? ''
  const PassthroughTLS = Proto === 'tls' && options.TLSTermination === null
  return {
    proxyProtocol: options.ProxyProto,
    async dial(visitor, first) {
      if (!allows(visitor.ip)) throw new DialError('offline', `The tunnel does not let ${visitor.ip} in.`)
      const header = { Id: id, ClientAddr: clientAddress(visitor), Proto, EdgeType: '0', PassthroughTLS }
      return fleet.dial(tunnel, header, first)
    },
  }
}

const edgeTypes = { tcp: '1', tls: '2' } as const

/** Connections without HTTP to whichever tunnel of a group can be reached. */
export function groupUpstream(
  group: TunnelGroup,
  fleet: Pick<Fleet, 'dial'>,
  edge: keyof typeof edgeTypes,
): Upstream {
  const common = { Proto: '', EdgeType: edgeTypes[edge], PassthroughTLS: edge === 'tls' }
  return {
    async dial(visitor, first) {
      let failure: unknown = new DialError('offline', 'No tunnel of the group is online.')
      for (const tunnel of group.candidates()) {
        try {
          const header = { ...common, Id: tunnel.id, ClientAddr: clientAddress(visitor) }
          const stream = await fleet.dial(tunnel, header, first)
          group.worked(tunnel)
          return stream
        } catch (error) {
          if (!(error instanceof DialError)) throw error
          group.failed(tunnel)
          failure = error
        }
      }
      throw failure
    },
  }
}
