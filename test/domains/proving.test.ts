import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { decode } from '#contract/body.ts'
import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { reserveOwnDomain } from '#domains/acme/own-domain.ts'
import { provingOf, type Domain, type DomainEnvironment } from '#domains/acme/proving.ts'
import { World } from '../acme/world.ts'

const BASE = 'gate.example.org'
const silent: DomainEnvironment = {
  domain: BASE,
  addresses: ['198.51.100.7', '2001:db8::7'],
  nameServerIps: ['198.51.100.7'],
  servesDns: false,
  isSoleServer: true,
}
const oneOfSeveral: DomainEnvironment = { ...silent, isSoleServer: false }
const answering: DomainEnvironment = { ...silent, servesDns: true }

const domain = (fields: object): Domain => ({ ...decode(reservedDomain.shape, {}), ...fields }) as Domain
const wildcard = domain({
  domain: '*.example.com',
  cname_target: `x.cname.${BASE}`,
  acme_challenge_cname_target: `x.acme.${BASE}`,
})
const ingress = {
  ...decode(agentIngress.shape, { domain: 'agents.example.net' }),
  ns_targets: [`ns1.${BASE}`],
  region_domains: ['tunnel.us.agents.example.net'],
} as unknown as Domain

suite('how names are proven', () => {
  test('a wildcard by DNS-01 if any server on the same database serves DNS', () => {
    assert.match(provingOf(wildcard, silent).obstacle ?? '', /ADIT_DNS_ADDR/)
    for (const environment of [answering, oneOfSeveral]) {
      const { obstacle, zone, challengeTarget } = provingOf(wildcard, environment)
      assert.equal(obstacle, undefined)
      assert.equal(zone?.apex, BASE)
      assert.equal(zone.hint?.includes('ADIT_DNS_ADDR') ?? false, !environment.servesDns)
      assert.equal(challengeTarget, `x.acme.${BASE}`)
    }
  })

  test('name servers within the zone need their addresses beside them, and others do not', () => {
    assert.deepEqual(provingOf(wildcard, answering).zone?.records, [
      `${BASE} NS ns1.${BASE}`,
      `${BASE} NS ns2.${BASE}`,
      `ns1.${BASE} A 198.51.100.7`,
      `ns2.${BASE} A 198.51.100.7`,
    ])
    assert.deepEqual(provingOf(ingress, answering).zone?.records, [`agents.example.net NS ns1.${BASE}`])
  })

  test('an agent ingress by its addresses alone where this server does not serve its DNS', () => {
    const { zone, obstacle, advice, names } = provingOf(ingress, silent)
    assert.deepEqual([zone, obstacle, advice], [undefined, undefined, undefined])
    assert.deepEqual(names, ['tunnel.us.agents.example.net'])
  })

  test('the shared domain by DNS-01 as soon as one of several servers serves DNS, in any start order', async () => {
    const place = { directory: 'off', rootFile: import.meta.filename, dns: '127.0.0.1:9' }
    await using world = await World.open(place, { domain: BASE })
    const target = async () => (await world.reservation(BASE)).acme_challenge_cname_target
    await reserveOwnDomain(world.call, oneOfSeveral)
    assert.equal(await target(), null)
    await reserveOwnDomain(world.call, { ...answering, isSoleServer: false })
    assert.equal(await target(), `_acme-challenge.${BASE}`)
    await reserveOwnDomain(world.call, oneOfSeveral)
    assert.equal(await target(), `_acme-challenge.${BASE}`)
    await reserveOwnDomain(world.call, silent)
    assert.equal(await target(), null)
  })

  test('a custom name that has become the shared domain as that, with its own policy', async () => {
    const place = { directory: 'off', rootFile: import.meta.filename, dns: '127.0.0.1:9' }
    await using world = await World.open(place)
    const { id } = await world.reserve(BASE, 'rsa')
    const call = { ...world.call, info: { ...world.call.info, domain: BASE } }
    await reserveOwnDomain(call, answering)
    const { cname_target: target, certificate_management_policy: policy } = await world.domain(id)
    assert.equal(target, null)
    assert.equal(policy?.private_key_type, 'rsa')
  })
})
