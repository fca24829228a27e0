import type { Collection } from '#contract/kinds/index.ts'

interface GroupSpec {
  readonly id: string
  readonly title: string
  readonly doc: string
  readonly collections: readonly Collection[]
}

/** The groups of the reference. A collection without a group is in the last one. */
export const groupSpecs: readonly GroupSpec[] = [
  {
    id: 'access',
    title: 'Keys and users',
    doc: 'API keys, agent credentials, and the users that own them.',
    collections: [
      'api_keys',
      'credentials',
      'ssh_credentials',
      'users',
      'bot_users',
      'service_users',
      'dashboard_sessions',
      'passkeys',
    ],
  },
  {
    id: 'edges',
    title: 'Edges and routes',
    doc: 'What is served at a public address, and how its traffic is processed.',
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
    doc: 'Your host names and TCP addresses, and the zones of the DNS server.',
    collections: ['reserved_domains', 'reserved_addrs', 'agent_ingresses', 'dns_zones'],
  },
  {
    id: 'certificates',
    title: 'Certificates',
    doc: 'TLS certificates, and SSH CAs and certificates.',
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
    doc: 'Which addresses are allowed.',
    collections: ['ip_policies', 'ip_policy_rules', 'ip_restrictions'],
  },
  {
    id: 'event-delivery',
    title: 'Event subscriptions',
    doc: 'Which events are sent to which destinations, their delivery status, and the audit log.',
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
    doc: 'Online agents, tunnels and endpoints, and the last requests with the reason for each response, their headers and bodies.',
    collections: ['endpoints', 'tunnels', 'nodes', 'tunnel_sessions', 'requests', 'captures'],
  },
  {
    id: 'visitors',
    title: 'Visitors',
    doc: 'Users who signed in to an endpoint, and reports about endpoints.',
    collections: ['application_users', 'application_sessions', 'abuse_reports'],
  },
  { id: 'more', title: 'More', doc: 'Everything else.', collections: [] },
]
