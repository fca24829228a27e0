import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { returnUrl, IDP_INITIATED } from '#auth/sign-in/flow.ts'
import {
  signedResponse,
  assertionXml,
  EMAIL,
  responseXml,
  signed,
  TRANSIENT,
  UNSPECIFIED,
} from './documents.ts'
import {
  REQUEST_ID,
  CONFIG,
  forms,
  locationOf,
  ORIGIN,
  SamlFixture,
  fixturesWith,
  row,
  settingsOf,
  sharedKeys,
} from './support.ts'

const keys = await sharedKeys()

for (const [form, others] of Object.entries(forms))
  suite(`who is allowed by SAML at ${form}`, () => {
    const { rigOf, sent } = fixturesWith(keys, others)

    test('needs exactly one AuthnStatement', async () => {
      for (const statements of [0, 2])
        assert.deepEqual(await sent(rigOf(), { statements }), { refused: 'saml_statements' })
    })

    test('SAML-15 a RelayState that we did not issue is rejected', async () => {
      const rig = rigOf()
      for (const relay of ['https://evil.test/', '//evil.test', '', 'x', rigOf({}, CONFIG).state()]) {
        const reply = await rig.acs(
          signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID }),
          relay,
        )
        assert.equal(reply.refusal, 'saml_relay_state', relay)
        assert.equal(reply.head.fields.get('location'), undefined)
      }
    })

    test('SAML-15 a sign-in that the provider starts can redirect only to hosts of the realm', async () => {
      const rig = rigOf()
      const refusals = {
        home: 'saml_target_missing',
        'home/page': 'saml_target_missing',
        '/\\evil.test/': 'saml_target_missing',
        '/\t/evil.test/': 'saml_target_missing',
        '\\\\evil.test/': 'saml_target_missing',
        '///evil.test/': 'saml_target_missing',
        'javascript:alert(1)//https://app.example.test/': 'saml_target_missing',
        '//app.example.test/': 'saml_target_missing',
        'https://user@app.example.test/': 'saml_target_missing',
        'https://evil.test/': 'saml_target_edge',
        'https://app.example.test.evil.test/': 'saml_target_edge',
        'https://app.example.test:8443/': 'saml_target_edge',
        'http://app.example.test/': 'saml_target_edge',
        'https://evil.test\\@app.example.test/': 'saml_target_edge',
        'https://conf.example.test/': 'saml_target_edge',
      }
      for (const [target, refusal] of Object.entries(refusals)) {
        const reply = await rig.acs(signedResponse(rig.service, keys.idp), target)
        assert.equal(reply.refusal, refusal, target)
        assert.equal(reply.head.fields.get('location'), undefined)
      }
      const config = rigOf({}, CONFIG)
      const other = await config.acs(signedResponse(config.service, keys.idp), 'https://app.example.test/')
      assert.equal(other.refusal, 'saml_target_config')
    })

    test('SAML-16 an assertion is accepted once', async () => {
      const rig = rigOf()
      const xml = signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID })
      assert.ok('user' in (await rig.outcome(xml, REQUEST_ID)))
      assert.deepEqual(await rig.outcome(xml, REQUEST_ID), { refused: 'saml_replayed' })
    })

    test('SAML-16 an answer to a request of another browser is refused', async () => {
      const rig = rigOf()
      const xml = () => signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID })
      assert.deepEqual(await rig.outcome(xml(), '_another'), { refused: 'saml_other_request' })
      assert.deepEqual(await rig.outcome(xml(), undefined), { refused: 'saml_other_request' })
    })

    test('SAML-16 an unasked answer does not end a sign-in that was begun here', async () => {
      const rig = rigOf()
      const xml = signedResponse(rig.service, keys.idp)
      assert.deepEqual(await rig.outcome(xml, REQUEST_ID, `${ORIGIN}/`), { refused: 'saml_other_request' })
    })

    test('SAML-16 message and assertion must answer the same request', async () => {
      const rig = rigOf()
      const assertion = signed(assertionXml(rig.service, { inResponseTo: REQUEST_ID }), { by: keys.idp })
      for (const inResponseTo of ['_another', undefined]) {
        const xml = responseXml(rig.service, { inResponseTo }, assertion)
        assert.deepEqual(await rig.outcome(xml, REQUEST_ID), { refused: 'saml_not_for_us' })
      }
    })

    test('SAML-16 what the endpoint is handed counts once, for a minute, and only there', async () => {
      const rig = rigOf()
      const reply = await rig.acs(
        signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID }),
        rig.state(),
      )
      const url = new URL(locationOf(reply))
      assert.deepEqual(await rigOf({}, CONFIG).finished(url, REQUEST_ID), { refused: 'saml_late' })
      assert.ok('user' in (await rig.finished(url, REQUEST_ID)))
      assert.deepEqual(await rig.finished(url, REQUEST_ID), { refused: 'saml_late' })
      url.searchParams.set('answer', 'AAAA')
      assert.deepEqual(await rig.finished(url, REQUEST_ID), { refused: 'saml_late' })
    })

    test('what an endpoint is handed counts at that host only, though another has the same configuration', async () => {
      const rig = rigOf({}, CONFIG)
      const reply = await rig.acs(
        signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID }),
        rig.state('https://b.example.test'),
      )
      const url = new URL(locationOf(reply))
      assert.ok(rig.handed(url))
      url.hostname = 'conf.example.test'
      assert.equal(rig.handed(url), undefined)
    })

    test('nothing is handed to a host that does not require this sign-in now', async () => {
      const rig = rigOf()
      for (const found of [[], [CONFIG]]) {
        rig.realmsAt = () => found
        const unasked = await rig.acs(signedResponse(rig.service, keys.idp), `${ORIGIN}/`)
        const asked = await rig.acs(
          signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID }),
          rig.state(),
        )
        for (const reply of [unasked, asked]) {
          assert.equal(reply.refusal, 'sign_in_elsewhere')
          assert.equal(reply.head.fields.get('location'), undefined)
        }
      }
    })

    test('SAML-17 a provider may start a sign-in where the owner allows it', async () => {
      for (const target of ['https://app.example.test/x?y=1', 'https://a.wild.test/x?y=1']) {
        const rig = rigOf()
        const url = new URL(locationOf(await rig.acs(signedResponse(rig.service, keys.idp), target)))
        assert.equal(url.origin, new URL(target).origin)
        assert.equal(rig.handed(url)?.state.flowId, IDP_INITIATED)
        assert.ok('user' in (await rig.finished(url, undefined)))
      }
      const config = rigOf({}, CONFIG)
      const reply = await config.acs(signedResponse(config.service, keys.idp), 'https://conf.example.test/')
      assert.ok(locationOf(reply).startsWith('https://conf.example.test/.adit/signed-in?'))
    })

    test('SAML-17 a provider that names no target redirects to the first host and the path of the route', async () => {
      const edge = (hostports: string[]) => row('https_edge', 'edghts_2', { hostports })
      const route = (match: string, hostports: string[]): SamlFixture => {
        const body = { match, match_type: 'path_prefix', saml: settingsOf(keys) }
        const rows = [edge(hostports), row('https_edge_route', 'edghtsrt_2', body, 'edghts_2')]
        return new SamlFixture(settingsOf(keys), { realmId: 'edghtsrt_2', rows })
      }
      const wild = ['*.wild.test:443', 'one.example.test:443', 'two.example.test:443']
      const cases: readonly [rig: SamlFixture, relayState: string, target: string | undefined][] = [
        [rigOf(), '', 'https://app.example.test/'],
        [rigOf(), '/deep?x=1', 'https://app.example.test/deep?x=1'],
        [rigOf(), '/../x/./y', 'https://app.example.test/x/y'],
        [route('/team', wild), '', 'https://one.example.test/team'],
        [route('/team', wild), '/other', 'https://one.example.test/other'],
        [route('two.example.test/team', wild), '', 'https://two.example.test/team'],
        [route('*.wild.test/team', wild), '', 'https://one.example.test/team'],
        [route('/', ['*.wild.test:443']), '', undefined],
        [route('/', ['*.wild.test:443']), '/x', undefined],
        [rigOf({}, CONFIG), '', 'https://conf.example.test/'],
        [rigOf({}, CONFIG), '/x', 'https://conf.example.test/x'],
      ]
      for (const [rig, relayState, target] of cases) {
        const reply = await rig.acs(signedResponse(rig.service, keys.idp), relayState)
        if (target === undefined) assert.equal(reply.refusal, 'saml_target_missing')
        else {
          const state = rig.handed(new URL(locationOf(reply)))?.state
          assert.equal(state && returnUrl(state), target)
        }
      }
    })

    test('SAML-17 a configuration of several hosts needs the host', async () => {
      const other = row('reserved_domain', 'rd_2', { domain: 'b.test', https_endpoint_configuration: CONFIG })
      const rig = new SamlFixture(settingsOf(keys), { realmId: CONFIG, rows: [other] })
      assert.equal((await rig.acs(signedResponse(rig.service, keys.idp), '')).refusal, 'saml_target_missing')
      assert.ok(locationOf(await rig.acs(signedResponse(rig.service, keys.idp), 'https://b.test/')))
    })

    test('SAML-17 and nowhere else', async () => {
      const route = rigOf({ allow_idp_initiated: false })
      assert.equal(
        (await route.acs(signedResponse(route.service, keys.idp), ORIGIN)).refusal,
        'saml_unasked_route',
      )
      const config = rigOf({ allow_idp_initiated: false }, CONFIG)
      const xml = signedResponse(config.service, keys.idp)
      assert.equal((await config.acs(xml, 'https://conf.example.test/')).refusal, 'saml_unasked_config')
      assert.equal(route.method.allowsIdpInitiated, false)
      // A ticket of before the setting was changed.
      const earlier = rigOf()
      const url = new URL(
        locationOf(await earlier.acs(signedResponse(earlier.service, keys.idp), `${ORIGIN}/`)),
      )
      assert.deepEqual(await route.finished(url, undefined), { refused: 'saml_other_request' })
    })

    test('SAML-18 only members of a group may enter, where groups are named', async () => {
      const names = [
        'groups',
        'Groups',
        'memberOf',
        'http://schemas.xmlsoap.org/claims/Group',
        'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups',
      ]
      const rig = rigOf({ authorized_groups: ['staff', 'ops'] })
      for (const name of names) {
        assert.ok('user' in (await sent(rig, { attributes: { [name]: ['all', 'ops'] } })), name)
        assert.deepEqual(await sent(rig, { attributes: { [name]: ['all', 'Ops', 'staff2'] } }), {
          refused: 'saml_group',
        })
      }
      assert.deepEqual(await sent(rig), { refused: 'saml_group' })
      assert.deepEqual(await sent(rig, { attributes: { title: ['ops'] } }), { refused: 'saml_group' })
      assert.ok('user' in (await sent(rigOf(), { attributes: { groups: ['all'] } })))
    })

    test('SAML-19 a NameID of another format than requested is refused', async () => {
      assert.deepEqual(await sent(rigOf(), { format: EMAIL }), { refused: 'saml_nameid_differs' })
      assert.deepEqual(await sent(rigOf({ nameid_format: TRANSIENT })), { refused: 'saml_nameid_differs' })
      assert.ok('user' in (await sent(rigOf({ nameid_format: TRANSIENT }), { format: TRANSIENT })))
      assert.ok('user' in (await sent(rigOf(), { format: UNSPECIFIED })))
      assert.ok('user' in (await sent(rigOf({ nameid_format: UNSPECIFIED }), { format: EMAIL })))
    })

    test('SAML-19 a NameID that cannot be a user is refused', async () => {
      for (const nameId of ['', ' ', 'a&#10;b', 'a'.repeat(1025), '<x>anna</x>'])
        assert.deepEqual(await sent(rigOf(), { nameId }), { refused: 'saml_unreadable' })
    })
  })
