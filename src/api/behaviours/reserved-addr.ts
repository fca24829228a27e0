import type { ResourceHooks } from '#api/resource-hooks.ts'
import { TCP_PORTS } from '#api/behaviours/edges.ts'
import { requireConfigType } from '#api/behaviours/reserved-domain.ts'
import type { Call } from '#api/call.ts'
import { fail } from '#base/errors.ts'
import { reservedAddr as kind } from '#contract/kinds/reserved-addr.ts'

/** A free assignable port: from a random start, so that freed ones are not reused at once. */
async function freePort({ store, info }: Call): Promise<number> {
  const { first, last } = info.randomTcpPorts
  const count = last - first + 1
  const start = Math.floor(Math.random() * count)
  for (let step = 0; step < count; step++) {
    const port = first + ((start + step) % count)
    if (!(await store.holder({ namespace: TCP_PORTS, value: String(port) }))) return port
  }
  return fail('addr_none_free')
}

export const reservedAddr: ResourceHooks = {
  async prepare(draft, call) {
    const { domain, region } = call.info
    const address = draft.as(kind)
    if (!draft.before) {
      const host = address.region === region ? `1.tcp.${domain}` : `1.tcp.${address.region}.${domain}`
      address.addr = `${host}:${await freePort(call)}`
    }
    const port = address.addr.slice(address.addr.lastIndexOf(':') + 1)
    draft.claim(TCP_PORTS, port, { field: 'addr' })
    await requireConfigType(draft, 'endpoint_configuration', 'tcp', call)
  },
  mutations: {
    delete_endpoint_configuration: ({ body }) => ({ ...body, endpoint_configuration: null }),
  },
}
