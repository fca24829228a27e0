import { description, kind, metadata, owner } from '#contract/kind.ts'
import { regionField } from '#contract/kinds/region.ts'
import { line } from '#contract/schema.ts'
import { computed, immutable, ref } from '#contract/shape.ts'
import { endpointConfigurations } from '#contract/targets.ts'

export const reservedAddr = kind({
  name: 'reserved_addr',
  doc: 'A TCP address that only this account may serve.',
  prefix: 'ra',
  path: '/reserved_addrs',
  listKey: 'reserved_addrs',
  followedByGateway: true,
  event: 'tcp_address',
  inUse: 'addr_in_use',
  actions: {
    delete_endpoint_configuration: {
      method: 'DELETE',
      path: '/endpoint_configuration',
      doc: 'Detaches the endpoint configuration.',
    },
  },
  fields: {
    description: description('addr_description'),
    metadata: metadata('addr_metadata'),
    owner_id: owner(),
    addr: computed(line(), 'The address, host:port, chosen by the server.'),
    region: immutable(regionField('addr_region')),
    endpoint_configuration: ref(endpointConfigurations, 'endpoint_configuration_id'),
  },
})
