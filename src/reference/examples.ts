import type { Collection, Kinds } from '#contract/kinds/index.ts'
import type { Create } from '#contract/shape.ts'

/** A made-up id of the right form, for every resource that must already exist. */
export const exampleId = (prefix: string): string => `${prefix}_2abcDEFghiJKLmnoPQRstuVWXyz`

export const examplePem = {
  certificate: '-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n',
  key: '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n',
}

const publicKey =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK4E+eUXNLRBTLOlrCLVn5CI+6rB543bJechpcECtHsN alice@laptop'
const backend = { backend_id: exampleId('bkdhr') }

/** A body for creating one of each: the compiler checks their types, test/docs.test.ts sends them to a server. */
export const examples: { readonly [C in Collection]?: Create<Kinds[C]['shape']> } = {
  abuse_reports: { urls: ['https://bad.example.com/login'] },
  agent_ingresses: { description: 'agents of the office', domain: 'agents.example.com' },
  api_keys: { description: 'deploy script' },
  bot_users: { name: 'deploy' },
  captures: { host: 'shop.example.com', duration: 300 },
  certificate_authorities: { description: 'clients of the shop', ca_pem: examplePem.certificate },
  credentials: { description: 'build machine', acl: ['bind:app.example.com'] },
  endpoint_configurations: {
    type: 'https',
    description: 'compress, and add a header',
    compression: {},
    response_headers: { add: { 'x-served-by': 'adit' } },
  },
  event_destinations: {
    description: 'our own receiver',
    target: { webhook: { url: 'https://events.example.com/adit', secret: 'a long random text' } },
  },
  event_sources: { type: 'ip_policy_updated.v0' },
  event_subscriptions: {
    description: 'changes of IP policies',
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [exampleId('ed')],
  },
  failover_backends: { description: 'page for when all is down', backends: [exampleId('bkdhr')] },
  http_response_backends: {
    description: 'hello page',
    body: 'Hello!',
    headers: { 'content-type': 'text/plain' },
    status_code: 200,
  },
  https_edge_routes: {
    match_type: 'path_prefix',
    match: '/',
    description: 'everything',
    backend,
    compression: { enabled: true },
  },
  https_edges: { description: 'the shop', hostports: ['shop.example.com:443'] },
  ip_policies: { description: 'the office' },
  ip_policy_rules: { ip_policy_id: exampleId('ipp'), cidr: '203.0.113.0/24', action: 'allow' },
  ip_restrictions: { type: 'agent', enforced: true, ip_policy_ids: [exampleId('ipp')] },
  reserved_addrs: { description: 'database of the shop' },
  reserved_domains: { domain: 'shop.example.com', description: 'the shop' },
  service_users: { name: 'reports' },
  ssh_certificate_authorities: { description: 'our servers', private_key_type: 'ed25519' },
  ssh_credentials: { description: 'laptop of Alice', public_key: publicKey },
  ssh_host_certificates: {
    ssh_certificate_authority_id: exampleId('sshca'),
    public_key: publicKey,
    principals: ['server1.example.com'],
    valid_after: '2030-01-01T00:00:00Z',
    valid_until: '2030-12-31T00:00:00Z',
  },
  ssh_user_certificates: {
    ssh_certificate_authority_id: exampleId('sshca'),
    public_key: publicKey,
    principals: ['alice'],
    critical_options: { 'source-address': '203.0.113.0/24' },
  },
  static_backends: { address: '10.0.0.5:8080', description: 'a service in our network' },
  tcp_edges: { description: 'database', hostports: ['db.example.com:5432'], backend },
  tls_certificates: {
    description: 'shop.example.com',
    certificate_pem: examplePem.certificate,
    private_key_pem: examplePem.key,
  },
  tls_edges: {
    description: 'mail',
    hostports: ['mail.example.com:443'],
    backend,
    tls_termination: { terminate_at: 'upstream' },
  },
  tunnel_group_backends: { description: 'all shop servers', labels: { service: 'shop' } },
  users: { name: 'Alice', email: 'alice@example.com', role: 'member' },
  weighted_backends: { backends: { [exampleId('bkdhr')]: 90, [exampleId('bkdsc')]: 10 } },
}

/** Bodies of actions, by the id of the operation. */
export const actionExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ip_policies_check: { ip: '203.0.113.7' },
  ip_restrictions_check: { ip: '203.0.113.7' },
  requests_explain: { request_url: 'https://shop.example.com/cart', ip: '203.0.113.7' },
}
