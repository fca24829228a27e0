import { description, kind, metadata, owner } from '#contract/kind.ts'
import { flag, integer, line, listOf, mapOf, text } from '#contract/schema.ts'
import { idOf, idText, input, optional, type ReferenceTarget, required, shownRefs } from '#contract/shape.ts'
import { nested } from '#contract/shape-schema.ts'

const about = {
  description: description('backend_description'),
  metadata: metadata('backend_metadata'),
  owner_id: owner(),
}

/** A reference to a backend of any kind. */
export const backends: ReferenceTarget = {
  // Read later: backends that refer to others are among them.
  get kinds() {
    return Object.values(backendKinds).map(({ name }) => name)
  },
  wrong: 'bad_backend_id',
  missing: 'backend_child_missing',
}

export const httpResponseBackend = kind({
  name: 'http_response_backend',
  doc: 'Returns the same response to every request.',
  prefix: 'bkdhr',
  path: '/backends/http_response',
  listKey: 'backends',
  followedByGateway: true,
  inUse: 'backend_in_use',
  fields: {
    ...about,
    body: input(
      text({ maxBytes: 65_536, refusals: { maxBytes: 'response_body_too_big' } }),
      'Response body.',
    ),
    headers: optional(mapOf(line({ maxBytes: 4096 }), { maxProperties: 100 }), 'Response headers.'),
    status_code: input(
      integer(200, 599, { default: 200, refusal: 'response_status' }),
      'Response status; default 200.',
    ),
  },
})

export const weightedBackend = kind({
  name: 'weighted_backend',
  doc: 'Balances traffic over backends by weight.',
  prefix: 'bkdwd',
  path: '/backends/weighted',
  listKey: 'backends',
  followedByGateway: true,
  inUse: 'backend_in_use',
  fields: {
    ...about,
    backends: idOf(
      backends,
      input(
        mapOf(integer(0, 10_000, { refusal: 'weight_range' }), {
          maxProperties: 100,
          refusals: { maxProperties: 'weighted_children' },
        }),
        'Id of each backend with its weight, 0 to 10000.',
      ),
    ),
  },
})

export const failoverBackend = kind({
  name: 'failover_backend',
  doc: 'Tries backends in order until one is reachable.',
  prefix: 'bkdfo',
  path: '/backends/failover',
  listKey: 'backends',
  followedByGateway: true,
  inUse: 'backend_in_use',
  fields: {
    ...about,
    backends: idOf(
      backends,
      input(
        listOf(idText(backends), {
          maxItems: 100,
          refusals: { maxItems: 'failover_children' },
        }),
        'Ids of the backends, in order of preference.',
      ),
    ),
  },
})

export const tunnelGroupBackend = kind({
  name: 'tunnel_group_backend',
  doc: 'Balances traffic over the online tunnels of its owner that have all of its labels; over those of all users if it has no owner.',
  prefix: 'bkdtg',
  path: '/backends/tunnel_group',
  listKey: 'backends',
  followedByGateway: true,
  inUse: 'backend_in_use',
  fields: {
    ...about,
    labels: input(
      mapOf(line({ maxBytes: 255, refusals: { maxBytes: 'label_length' } }), {
        maxProperties: 100,
        refusals: { maxProperties: 'label_count' },
      }),
      'The labels that a tunnel must have.',
    ),
    tunnels: shownRefs('The online tunnels that match.'),
  },
})

export const staticBackend = kind({
  name: 'static_backend',
  doc: 'Forwards to a fixed address.',
  prefix: 'bkdsc',
  path: '/backends/static',
  listKey: 'backends',
  followedByGateway: true,
  inUse: 'backend_in_use',
  fields: {
    ...about,
    address: required(
      input(
        line({ maxBytes: 300, missing: 'static_address', refusal: 'static_address' }),
        'Where to forward to, host:port.',
      ),
    ),
    tls: nested({ enabled: input(flag(false), 'Use TLS to the address.') }),
  },
})

/** Every backend kind, under the name of its collection. */
export const backendKinds = {
  failover_backends: failoverBackend,
  http_response_backends: httpResponseBackend,
  static_backends: staticBackend,
  tunnel_group_backends: tunnelGroupBackend,
  weighted_backends: weightedBackend,
}
