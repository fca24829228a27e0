import { BlockList, isIPv6 } from 'node:net'
import { canonicalAddress, parseRange } from '#base/addresses.ts'
import { baseId } from '#registry/agent-connections.ts'
import type { RequestPage } from '#contract/request-history.ts'
import { responsibleParty } from '#telemetry/request-log/blame.ts'
import type { KeptRequest } from '#telemetry/request-log/ring.ts'

type Test = (request: KeptRequest) => boolean

/** How each filter selects. */
const tests: Readonly<Record<string, (value: string) => Test>> = {
  host: value => {
    const host = value.toLowerCase()
    return request => request.host === host
  },
  path: value => request => request.path.startsWith(value),
  method: value => request => request.method === value.toUpperCase(),
  status: value => {
    const digits = value.replace('xx', '')
    return ({ status }) => String(status).startsWith(digits)
  },
  failed:
    value =>
    ({ status, refusal }) => {
      const party = responsibleParty(status, refusal)
      return value === 'any' ? party !== undefined : party === value
    },
  tunnel_id: value => request => request.tunnelId !== undefined && baseId(request.tunnelId) === value,
  edge_id: value => request => request.route?.edgeId === value,
  route_id: value => request => request.route?.routeId === value,
  ip: value => {
    const network = networkOf(value)
    return ({ ip }) => network.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4')
  },
  since: value => {
    const since = Date.parse(value)
    return ({ at }) => at >= since
  },
}

function networkOf(text: string): BlockList {
  const network = new BlockList()
  const address = canonicalAddress(text)
  const range = parseRange(text)
  if (address !== undefined) network.addAddress(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  else if (range !== undefined) network.addSubnet(range.address, range.bits, range.family)
  return network
}

/** Whether a request passes all of these filters. */
export function requestFilter(filters: RequestPage['filters'] = {}): Test {
  const chosen = Object.entries(filters).map(([name, value]) => {
    const test = tests[name]
    if (test === undefined) throw new Error(`Requests cannot be filtered by ${name}.`)
    return test(value)
  })
  return request => chosen.every(passes => passes(request))
}
