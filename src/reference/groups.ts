import type { Collection } from '#contract/kinds/index.ts'

export interface GroupSpec {
  readonly id: string
  readonly title: string
  readonly doc: string
  readonly collections: readonly Collection[]
}

/** How the reference is divided. A collection that is named nowhere here comes under the last group. */
export const groupSpecs: readonly GroupSpec[] = [
  {
    id: 'access',
    title: 'Keys and users',
    doc: 'Who may call this API, who may connect an agent, and who they belong to.',
    collections: ['api_keys', 'credentials', 'ssh_credentials', 'users', 'bot_users', 'service_users'],
  },
  {
    id: 'edges',
    title: 'Edges and routes',
    doc: 'What is served at an address, and what happens to the traffic on its way.',
    collections: ['https_edges', 'https_edge_routes', 'tls_edges', 'tcp_edges', 'endpoint_configurations'],
  },
  {
    id: 'backends',
    title: 'Backends',
    doc: 'Where accepted traffic goes.',
    collections: [
      'http_response_backends',
      'tunnel_group_backends',
      'static_backends',
      'weighted_backends',
      'failover_backends',
    ],
  },
  {
    id: 'names',
    title: 'Names and addresses',
    doc: 'Host names and TCP addresses that are yours.',
    collections: ['reserved_domains', 'reserved_addrs', 'agent_ingresses'],
  },
  {
    id: 'certificates',
    title: 'Certificates',
    doc: 'Certificates for TLS, and authorities and certificates for SSH.',
    collections: [
      'tls_certificates',
      'certificate_authorities',
      'ssh_certificate_authorities',
      'ssh_user_certificates',
      'ssh_host_certificates',
    ],
  },
  {
    id: 'ip-access',
    title: 'IP policies',
    doc: 'Which addresses may enter.',
    collections: ['ip_policies', 'ip_policy_rules', 'ip_restrictions'],
  },
  {
    id: 'event-delivery',
    title: 'Event subscriptions',
    doc: 'Which events are sent, where to, how that goes, and what has happened so far.',
    collections: [
      'event_subscriptions',
      'event_sources',
      'event_destinations',
      'event_deliveries',
      'audit_events',
    ],
  },
  {
    id: 'online',
    title: 'What is online',
    doc: 'Agents, tunnels and addresses that answer now, and the last requests with the reason for each answer.',
    collections: ['endpoints', 'tunnels', 'tunnel_sessions', 'requests'],
  },
  {
    id: 'visitors',
    title: 'Visitors',
    doc: 'People who signed in to an endpoint, and reports about endpoints.',
    collections: ['application_users', 'application_sessions', 'abuse_reports'],
  },
  { id: 'more', title: 'More', doc: 'Everything else.', collections: [] },
]
