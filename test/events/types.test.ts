import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventTypes } from '#contract/events/index.ts'
import { assertRefused, createResource } from '../support/each-store.ts'
import { startServer } from '../support/server.ts'

/** The public catalogue, written out: what is worked out from the kinds must come to the same. */
const publicTypes = [
  'agent_session_start.v0',
  'agent_session_stop.v0',
  'api_key_created.v0',
  'api_key_deleted.v0',
  'api_key_updated.v0',
  'certificate_authority_created.v0',
  'certificate_authority_deleted.v0',
  'certificate_authority_updated.v0',
  'domain_created.v0',
  'domain_deleted.v0',
  'domain_updated.v0',
  'event_destination_created.v0',
  'event_destination_deleted.v0',
  'event_destination_updated.v0',
  'event_subscription_created.v0',
  'event_subscription_deleted.v0',
  'event_subscription_updated.v0',
  'http_request_complete.v0',
  'ip_policy_created.v0',
  'ip_policy_deleted.v0',
  'ip_policy_rule_created.v0',
  'ip_policy_rule_deleted.v0',
  'ip_policy_rule_updated.v0',
  'ip_policy_updated.v0',
  'ip_restriction_created.v0',
  'ip_restriction_deleted.v0',
  'ip_restriction_updated.v0',
  'secret_created.v0',
  'secret_deleted.v0',
  'secret_updated.v0',
  'ssh_certificate_authority_created.v0',
  'ssh_certificate_authority_deleted.v0',
  'ssh_certificate_authority_updated.v0',
  'ssh_host_certificate_created.v0',
  'ssh_host_certificate_deleted.v0',
  'ssh_host_certificate_updated.v0',
  'ssh_public_key_created.v0',
  'ssh_public_key_deleted.v0',
  'ssh_public_key_updated.v0',
  'ssh_user_certificate_created.v0',
  'ssh_user_certificate_deleted.v0',
  'ssh_user_certificate_updated.v0',
  'tcp_address_created.v0',
  'tcp_address_deleted.v0',
  'tcp_address_updated.v0',
  'tcp_connection_closed.v0',
  'tls_certificate_created.v0',
  'tls_certificate_deleted.v0',
  'tls_certificate_updated.v0',
  'tunnel_credential_created.v0',
  'tunnel_credential_deleted.v0',
  'tunnel_credential_updated.v0',
  'vault_created.v0',
  'vault_deleted.v0',
  'vault_updated.v0',
]

/** What the public list lacks; each is created, updated and deleted. */
const ownKinds = [
  'agent_ingress',
  'bot_user',
  'endpoint_configuration',
  'failover_backend',
  'http_response_backend',
  'https_edge',
  'https_edge_route',
  'service_user',
  'static_backend',
  'tcp_edge',
  'tls_edge',
  'tunnel_group_backend',
  'user',
  'weighted_backend',
]
const ownTypes = [
  ...ownKinds.flatMap(name => ['created', 'updated', 'deleted'].map(what => `${name}_${what}.v0`)),
  // These can only be made, or only be removed.
  'abuse_report_created.v0',
  'application_session_deleted.v0',
  'application_user_deleted.v0',
  'capture_created.v0',
  'capture_deleted.v0',
  'dashboard_session_created.v0',
  'dashboard_session_deleted.v0',
  'dashboard_session_rejected.v0',
  'passkey_created.v0',
  'passkey_deleted.v0',
  'request_replayed.v0',
  'tls_certificate_expiring.v0',
  'tls_certificate_expired.v0',
]

/** Names of paths that are not names of events, and what looks like a type. */
const strangers = [
  'reserved_domain_created.v0',
  'reserved_addr_created.v0',
  'ssh_credential_created.v0',
  'credential_created.v0',
  'event_source_created.v0',
  'audit_event_created.v0',
  'tunnel_created.v0',
  'ip_policy_expired.v0',
  'application_user_created.v0',
  'ip_policy_created.v1',
  'ip_policy_created',
  'IP_POLICY_CREATED.V0',
  'test.v0',
  '*',
  '',
]

interface Source {
  readonly type: string
}

suite('event types', () => {
  test('are the 55 of the public catalogue and our own', () => {
    assert.equal(new Set(publicTypes).size, 55)
    assert.deepEqual([...eventTypes].toSorted(), [...publicTypes, ...ownTypes].toSorted())
  })

  test('can be subscribed to, all at once and one by one, and no others', async () => {
    await using server = await startServer()
    const { api } = server
    const all = [...publicTypes, ...ownTypes]
    const whole = await createResource(api, '/event_subscriptions', { sources: all.map(type => ({ type })) })
    assert.deepEqual(
      whole.sources.map(({ type }: Source) => type),
      all,
    )
    const { id } = await createResource(api, '/event_subscriptions')
    const path = `/event_subscriptions/${id}/sources`
    for (const type of all)
      assert.deepEqual(await createResource(api, path, { type }), { type, uri: `${api.url}${path}/${type}` })
    const listed: Source[] = (await api.get(path)).body.sources
    assert.deepEqual(listed.map(({ type }) => type).toSorted(), all.toSorted())
    for (const type of strangers) {
      const refused = { code: 238, says: /event type/ }
      await assertRefused(api, { path, body: { type }, ...refused }, [path])
      const body = { sources: [{ type }] }
      await assertRefused(api, { path: '/event_subscriptions', body, ...refused }, ['/event_subscriptions'])
    }
  })
})
