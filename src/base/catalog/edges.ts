import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Edges, routes, endpoint configurations, agent ingresses and abuse reports. */
export const edgeErrors = {
  config_type: { number: 90007, status: 400, text: '"type" must be one of http, https, tcp.' },
  config_in_use: {
    number: 1619,
    status: 400,
    conflict: true,
    text: 'This endpoint configuration is still in use by {by}. Change or delete that first.',
  },
  module_not_here: { number: 7021, status: 400, text: '"{field}" does not apply to {what}.' },
  ingress_description: { number: 6700, status: 400, text: '"{field}" may have at most 255 bytes.' },
  ingress_metadata: { number: 6701, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  ingress_domain: { number: 6704, status: 400, text: '"domain": {reason}' },
  ingress_third_party: {
    number: 6705,
    status: 400,
    text: '"domain" must be your own domain, not one under the shared domain.',
  },
  ingress_taken: {
    number: 6706,
    status: 400,
    conflict: true,
    text: 'An agent ingress for "{value}" already exists: {owner}.',
  },
  edge_ip_policy_missing: {
    number: 7007,
    status: 400,
    text: '"{field}": there is no IP policy with id "{id}".',
  },
  edge_too_many_policies: {
    number: 7013,
    status: 400,
    text: '"ip_policy_ids" may name at most 100 IP policies.',
  },
  edge_in_use: {
    number: 7019,
    status: 400,
    conflict: true,
    text: 'This edge is still in use by {by}. Change or delete that first.',
  },
  edge_header_name: { number: 7023, status: 400, text: '"{field}": "{name}" is not a header name.' },
  edge_needs_policy: { number: 7025, status: 400, text: '"ip_policy_ids" must name at least one IP policy.' },
  edge_description: { number: 7073, status: 400, text: '"{field}" may have at most 255 bytes.' },
  edge_metadata: { number: 7074, status: 400, text: '"{field}" may have at most 4096 bytes.' },
  hostport_format: {
    number: 7104,
    status: 400,
    text: '"hostports": "{value}" does not have the form host:port.',
  },
  hostport_port: {
    number: 7112,
    status: 400,
    text: '"hostports": the port of "{value}" must be between 1 and 65535.',
  },
  port_not_allowed: {
    number: 90025,
    status: 400,
    text: '"hostports": port {port} is outside the range that this server may use ({allowed}).',
  },
  hostport_443: { number: 7116, status: 400, text: '"hostports": "{value}" must use port 443.' },
  hostport_domain: {
    number: 7117,
    status: 400,
    text: '"hostports": the domain of "{value}" is not reserved. Reserve it with POST /reserved_domains.',
  },
  hostport_not_domain: {
    number: 7121,
    status: 400,
    text: '"hostports": "{value}" must name a domain, not an address.',
  },
  hostport_taken: {
    number: 7122,
    status: 400,
    conflict: true,
    text: '"hostports": "{value}" belongs to another edge: {owner}.',
  },
  hostport_twice: { number: 90016, status: 400, text: '"hostports" has "{value}" more than once.' },
  port_reserved: { number: 7114, status: 400, text: '"hostports": port {value} is reserved by {owner}.' },
  match_required: {
    number: 7123,
    status: 400,
    text: '"match" is required: a path such as /api, a host name, or both (example.com/api).',
  },
  match_taken: {
    number: 7126,
    status: 400,
    text: '"match": "{value}" is the match of another route of this edge: {owner}.',
  },
  match_type: { number: 7130, status: 400, text: '"match_type" must be "exact_path" or "path_prefix".' },
  match_form: {
    number: 7131,
    status: 400,
    text: '"match": "{value}" must be a path that starts with "/", a host name, or a host name followed by a path.',
  },
  match_length: { number: 7135, status: 400, text: '"match" may have at most 2048 bytes.' },
  report_urls: { number: 90019, status: 400, text: '"urls" must contain between 1 and 100 URLs.' },
  report_url: {
    number: 90020,
    status: 400,
    text: '"urls": "{value}" is not an http or https URL.',
  },
} as const satisfies Record<string, CatalogEntry>
