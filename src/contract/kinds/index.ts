import type { Kind } from '#contract/kind.ts'
import { abuseReport } from '#contract/kinds/abuse-report.ts'
import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { apiKey } from '#contract/kinds/api-key.ts'
import { applicationSession, applicationUser } from '#contract/kinds/application.ts'
import { auditEvent } from '#contract/kinds/audit-event.ts'
import { backendKinds } from '#contract/kinds/backends.ts'
import { capture } from '#contract/kinds/capture.ts'
import { certificateAuthority } from '#contract/kinds/certificate-authority.ts'
import { credential } from '#contract/kinds/credential.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'
import { dnsZone } from '#contract/kinds/dns-zone.ts'
import { httpsEdge, tcpEdge, tlsEdge } from '#contract/kinds/edges.ts'
import { endpointConfiguration } from '#contract/kinds/endpoint-configuration.ts'
import { eventDelivery, eventDestination, eventSource, eventSubscription } from '#contract/kinds/events.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import { ipPolicyRule } from '#contract/kinds/ip-policy-rule.ts'
import { ipPolicy } from '#contract/kinds/ip-policy.ts'
import { ipRestriction } from '#contract/kinds/ip-restriction.ts'
import { endpoint, tunnel, tunnelSession } from '#contract/kinds/live.ts'
import { node } from '#contract/kinds/node.ts'
import { passkey } from '#contract/kinds/passkey.ts'
import { request } from '#contract/kinds/request.ts'
import { reservedAddr } from '#contract/kinds/reserved-addr.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { sshCredential } from '#contract/kinds/ssh-credential.ts'
import { sshCertificateAuthority, sshHostCertificate, sshUserCertificate } from '#contract/kinds/ssh.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import { botUser, serviceUser, user } from '#contract/kinds/users.ts'

const declared = {
  ...backendKinds,
  abuse_reports: abuseReport,
  agent_ingresses: agentIngress,
  api_keys: apiKey,
  application_sessions: applicationSession,
  application_users: applicationUser,
  audit_events: auditEvent,
  bot_users: botUser,
  captures: capture,
  certificate_authorities: certificateAuthority,
  credentials: credential,
  dashboard_sessions: dashboardSession,
  dns_zones: dnsZone,
  endpoint_configurations: endpointConfiguration,
  endpoints: endpoint,
  event_deliveries: eventDelivery,
  event_destinations: eventDestination,
  event_sources: eventSource,
  event_subscriptions: eventSubscription,
  https_edge_routes: httpsEdgeRoute,
  https_edges: httpsEdge,
  ip_policies: ipPolicy,
  ip_policy_rules: ipPolicyRule,
  ip_restrictions: ipRestriction,
  nodes: node,
  passkeys: passkey,
  requests: request,
  reserved_addrs: reservedAddr,
  reserved_domains: reservedDomain,
  service_users: serviceUser,
  ssh_certificate_authorities: sshCertificateAuthority,
  ssh_credentials: sshCredential,
  ssh_host_certificates: sshHostCertificate,
  ssh_user_certificates: sshUserCertificate,
  tcp_edges: tcpEdge,
  tls_certificates: tlsCertificate,
  tls_edges: tlsEdge,
  tunnel_sessions: tunnelSession,
  tunnels: tunnel,
  users: user,
}

export type Kinds = typeof declared

/**
 * Every kind of resource, under the name of its collection in the client and on the command line. Sorted, because
 * documents list them in this order.
 */
export const kinds = Object.fromEntries(
  Object.entries(declared).toSorted(([left], [right]) => (left < right ? -1 : 1)),
) as Kinds
export type Collection = keyof Kinds

const byName: ReadonlyMap<string, Kind> = new Map(Object.values(kinds).map(kind => [kind.name, kind]))

/** Undefined for rows that are not resources of the API. */
export const kindByName = (name: string): Kind | undefined => byName.get(name)

export function kindNamed(name: string): Kind {
  const kind = byName.get(name)
  if (!kind) throw new Error(`no kind is named ${name}`)
  return kind
}

/** The child kinds, whose resources are deleted with their parent. */
export const childrenOf = (name: string): Kind[] =>
  [...byName.values()].filter(kind => kind.parent?.kind === name || kind.belongsTo?.kinds.includes(name))
