import { checkLifecycle, type Fields } from '../lifecycle.ts'
import type { World } from '../world.ts'
import type { Scenarios } from './index.ts'

const about = { description: 'first words', metadata: 'one' }
const update = { description: 'other words', metadata: 'two' }
const rules = [{ name: 'no bots', expressions: ['true'], actions: [{ type: 'deny', config: { code: 403 } }] }]
const policy = { enabled: true, inbound: rules, outbound: [] }

const hostport = async ({ make }: World, domain: string): Promise<string> => {
  await make('/reserved_domains', { domain })
  return `${domain}:443`
}

/** What is given for modules that name other resources, and what is read back. */
function referring({ backends: [backend], policies: [rule], authorityId, ref }: World) {
  const given = {
    backend: { backendId: backend },
    ipRestriction: { ipPolicyIds: [rule] },
    mutualTls: { certificateAuthorityIds: [authorityId] },
  }
  const shown = {
    backend: { enabled: true, backend: ref('/backends/http_response', backend) },
    ipRestriction: { enabled: true, ipPolicies: [ref('/ip_policies', rule)] },
    mutualTls: {
      enabled: true,
      certificateAuthorities: [ref('/certificate_authorities', authorityId)],
    },
  }
  return { given, shown }
}

const pick = (from: Fields, ...keys: string[]): Fields =>
  Object.fromEntries(keys.map(key => [key, from[key]]))

export const edges: Scenarios = {
  EdgesHTTPS: async (trial, world) => {
    const { given, shown } = referring(world)
    const [first, second] = [
      await hostport(world, 'a.compat.example'),
      await hostport(world, 'b.compat.example'),
    ]
    await checkLifecycle(trial, world.api, {
      create: { ...about, hostports: [first], tlsTermination: { minVersion: '1.3' } },
      made: { tlsTermination: { enabled: true, terminateAt: 'edge', minVersion: '1.3' }, routes: [] },
      update: { ...update, hostports: [second, first], mutualTls: given.mutualTls },
      updated: { mutualTls: shown.mutualTls },
    })
  },

  EdgesTLS: async (trial, world) => {
    const { given, shown } = referring(world)
    const tlsTermination = { enabled: true, terminateAt: 'edge', minVersion: '1.2' }
    await checkLifecycle(trial, world.api, {
      create: {
        ...about,
        ...given,
        hostports: [await hostport(world, 'tls.compat.example')],
        tlsTermination,
      },
      made: shown,
      update: { ...update, policy },
    })
  },

  EdgesTCP: async (trial, world) => {
    const { given, shown } = referring(world)
    const modules = ['backend', 'ipRestriction']
    await checkLifecycle(trial, world.api, {
      create: { ...about, ...pick(given, ...modules), hostports: ['1.tcp.compat.example:10321'] },
      made: pick(shown, ...modules),
      update: { ...update, hostports: ['1.tcp.compat.example:10322'], policy },
    })
  },

  EdgesHTTPSRoutes: async (trial, world) => {
    const { given, shown } = referring(world)
    const { id: edgeId } = await world.make('/edges/https')
    await checkLifecycle(trial, world.api, {
      within: { edgeId },
      create: {
        ...about,
        matchType: 'path_prefix',
        match: '/api',
        ...pick(given, 'backend', 'ipRestriction'),
        compression: {},
        requestHeaders: { add: { 'X-Team': 'red' }, remove: ['x-secret'] },
        userAgentFilter: { allow: ['^Good'], deny: ['.*'] },
      },
      made: {
        ...pick(shown, 'backend', 'ipRestriction'),
        compression: { enabled: true },
        requestHeaders: { enabled: true, add: { xTeam: 'red' }, remove: ['x-secret'] },
      },
      update: { ...update, matchType: 'exact_path', match: '/api/v2', compression: { enabled: false } },
      wire: {
        created: { edge_id: edgeId, request_headers: { add: { 'x-team': 'red' } } },
        updated: { match: '/api/v2', request_headers: { add: { 'x-team': 'red' } } },
      },
    })
  },
}
