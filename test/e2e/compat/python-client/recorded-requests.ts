/** What requests of ngrok-api 0.19.0 for Python have in common. */
export const headers = { 'user-agent': 'ngrok-api-python/0.0.0/3.11.7', 'ngrok-version': '2' }

/**
 * The body that `update` of the Python client sends when its caller gives nothing but the path's parameters,
 * recorded from release 0.19.0. An argument that is given replaces or joins these; undefined is no body at all.
 */
export const updateWithoutArguments: Readonly<Record<string, Record<string, unknown> | undefined>> = {
  '/agent_ingresses/{id}': {},
  '/api_keys/{id}': {},
  '/backends/failover/{id}': { backends: [] },
  '/backends/http_response/{id}': {},
  '/backends/static/{id}': { address: '' },
  '/backends/tunnel_group/{id}': { labels: {} },
  '/backends/weighted/{id}': { backends: {} },
  '/bot_users/{id}': {},
  '/certificate_authorities/{id}': {},
  '/credentials/{id}': {},
  '/edges/https/{edge_id}/routes/{id}': { match_type: '', match: '', description: '', metadata: '' },
  '/edges/https/{id}': {},
  '/edges/tcp/{id}': {},
  '/edges/tls/{id}': {},
  '/event_destinations/{id}': {},
  '/event_subscriptions/{id}': { sources: [] },
  '/event_subscriptions/{subscription_id}/sources/{type}': undefined,
  '/ip_policies/{id}': {},
  '/ip_policy_rules/{id}': {},
  '/ip_restrictions/{id}': { ip_policy_ids: [] },
  '/reserved_addrs/{id}': {},
  '/reserved_domains/{id}': { resolves_to: [] },
  '/service_users/{id}': {},
  '/ssh_certificate_authorities/{id}': {},
  '/ssh_credentials/{id}': {},
  '/ssh_host_certificates/{id}': {},
  '/ssh_user_certificates/{id}': {},
  '/tls_certificates/{id}': {},
}

/** Collections of this contract that release 0.19.0 has no service for. */
export const unknownToClient: ReadonlySet<string> = new Set(['endpoint_configurations', 'users'])
