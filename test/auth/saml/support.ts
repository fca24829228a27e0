import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type ErrorName, Problem } from '#base/errors.ts'
import type { Exchange, Handler, Reply } from '#http/exchange.ts'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { samlRoutes } from '#auth/saml/saml-routes.ts'
import { ReplayGuard } from '#auth/saml/replay-guard.ts'
import { samlMethod } from '#auth/saml/method.ts'
import { samlAddresses, type SamlAddresses, type SamlSettings } from '#auth/saml/service-provider.ts'
import { type ProviderResponse, answerIn } from '#auth/sign-in/provider-response.ts'
import { sealState } from '#auth/sign-in/flow.ts'
import { Seal } from '#auth/sign-in/seal.ts'
import type { RealmsAt, SignInMethod } from '#auth/sign-in/sign-in.ts'
import type { UserIdentity as User } from '#http/identity.ts'
import { request } from '../../gateway/modules/support.ts'
import { type Identity, issue } from '../../support/openssl.ts'
import { gatewayInfo } from '../../support/gateway-info.ts'
import { testLog } from '../../support/secrets.ts'
import { signedResponse, metadataXml, PERSISTENT, type AssertionOptions } from './documents.ts'
import { Folder } from '../../support/folder.ts'

export const ROUTE = 'edghtsrt_1'
export const CONFIG = 'ec_1'
export const ORIGIN = 'https://app.example.test'
/** The request id that responses refer to by default. */
export const REQUEST_ID = '_request1'

const info = gatewayInfo({ domain: 'example.test' })

/** Keys of a provider, of the same one before it changed them, and of another provider. */
async function newKeys() {
  const folder = new Folder()
  const [idp, older, stranger, curve, own] = await Promise.all([
    issue(folder, { name: 'idp', key: 'RSA 2048' }),
    issue(folder, { name: 'older', key: 'RSA 2048' }),
    issue(folder, { name: 'stranger', key: 'RSA 2048' }),
    issue(folder, { name: 'curve', key: 'P-256' }),
    issue(folder, { name: 'own', key: 'RSA 2048' }),
  ])
  return { folder, idp, older, stranger, curve, own }
}

export type Keys = Awaited<ReturnType<typeof newKeys>>

let shared: Promise<Keys> | undefined

/**
 * Keys for all test files of this process: RSA keys take as long to make as many tests. A promise of its own for each,
 * because Node gives tests declared after an await to the suite that made what was awaited.
 */
export async function sharedKeys(): Promise<Keys> {
  shared ??= newKeys()
  return shared
}
after(async () => (await shared)?.folder[Symbol.dispose]())

export const settingsOf = (
  keys: { idp: Identity; own: Identity },
  changes: Partial<SamlSettings> = {},
): SamlSettings =>
  ({
    enabled: true,
    options_passthrough: false,
    cookie_prefix: '',
    inactivity_timeout: 0,
    maximum_duration: 0,
    idp_metadata: metadataXml({ keys: [keys.idp] }),
    force_authn: false,
    allow_idp_initiated: true,
    authorized_groups: [],
    nameid_format: PERSISTENT,
    request_signing_certificate_pem: keys.own.certificate,
    request_signing_key_pem: keys.own.key,
    ...changes,
  }) as SamlSettings

export const row = (kind: string, id: string, body: object, parent: string | null = null): SourceRow => ({
  kind,
  id,
  parent,
  version: 1,
  body: body as SourceRow['body'],
  readable: true,
})

/** Either the accepted user, or the reason for the rejection. */
type Outcome = { readonly user: User } | { readonly refused: ErrorName | undefined }

/** The central address and one realm that it serves, without a network. */
export class SamlFixture {
  readonly records = new Records()
  readonly seal = new Seal(Buffer.alloc(32, 7))
  readonly ended: string[] = []
  readonly method: SignInMethod
  readonly service: SamlAddresses
  /** Which realms require sign-in at a host. */
  realmsAt: RealmsAt
  readonly #central: Handler
  readonly #realmId: string

  constructor(
    settings: SamlSettings,
    { realmId = ROUTE, rows = [] as SourceRow[], others = [] as readonly string[] } = {},
  ) {
    this.#realmId = realmId
    this.realmsAt = () => [...others, realmId]
    this.service = samlAddresses(realmId, info)
    this.records.snapshot([
      row('https_edge', 'edghts_1', { hostports: ['app.example.test:443', '*.wild.test:443'] }),
      row('https_edge_route', ROUTE, { saml: realmId === ROUTE ? settings : null }, 'edghts_1'),
      ...others.map(id => row('https_edge_route', id, { match: `/${id}`, saml: settings }, 'edghts_1')),
      row('endpoint_configuration', CONFIG, { saml: realmId === CONFIG ? settings : null }),
      row('reserved_domain', 'rd_1', { domain: 'conf.example.test', https_endpoint_configuration: CONFIG }),
      ...rows,
    ])
    this.#central = samlRoutes({
      records: this.records,
      seal: this.seal,
      info,
      userSessions: { ended: async id => void this.ended.push(id) },
      realmsAt: (scheme, host) => this.realmsAt(scheme, host),
      log: testLog(),
    })
    this.method = samlMethod({ realmId, settings, info, seal: this.seal, used: new ReplayGuard() })
  }

  get(path: string): Promise<Reply> {
    return this.#central(exchangeOf('GET', path), unreachable)
  }

  post(path: string, form: Readonly<Record<string, string>> | [string, string][]): Promise<Reply> {
    const body = new URLSearchParams(form).toString()
    return this.#central(exchangeOf('POST', path, body), unreachable)
  }

  state(origin = ORIGIN): string {
    return sealState(this.seal, { realmId: this.#realmId, origin, returnTo: '/x', flowId: 'f1' })
  }

  acs(xml: string, relayState: string): Promise<Reply> {
    const form = { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: relayState }
    return this.post(`/saml/${this.#realmId}/acs`, form)
  }

  /** What comes of an answer to `request`, from the central address to the endpoint. */
  async outcome(xml: string, asked: string | undefined, relayState = this.state()): Promise<Outcome> {
    const reply = await this.acs(xml, relayState)
    if (reply.head.status !== 303) return { refused: reply.refusal }
    return this.finished(new URL(locationOf(reply)), asked)
  }

  /** What the endpoint at an address is handed; undefined when it is not sealed for this realm. */
  handed(url: URL): ProviderResponse | undefined {
    assert.equal(url.pathname, '/.adit/signed-in')
    return answerIn(url.searchParams, this.seal, { realmId: this.#realmId, origin: url.origin })
  }

  async finished(url: URL, asked: string | undefined): Promise<Outcome> {
    const parameters = this.handed(url)?.parameters ?? new URLSearchParams()
    const memory: Record<string, string> =
      asked === undefined ? {} : { request: asked, begun: String(Date.now()) }
    try {
      const authResult = await this.method.finish({ parameters, memory, callback: '' })
      return { user: authResult.identity }
    } catch (error) {
      assert.ok(error instanceof Problem)
      return { refused: error.code }
    }
  }
}

/** Further routes of the edge with the same sign-in. */
export const forms = { 'one route': [], 'several routes': ['edghtsrt_8', 'edghtsrt_9'] } as const

/** Creates fixtures with these keys, and evaluates a response of the provider in them. */
export const fixturesWith = (keys: Keys, others: readonly string[] = []) => ({
  rigOf: (changes: Partial<SamlSettings> = {}, realmId = ROUTE): SamlFixture =>
    new SamlFixture(settingsOf(keys, changes), { realmId, others }),
  sent: (rig: SamlFixture, wish: AssertionOptions = {}): Promise<Outcome> =>
    rig.outcome(signedResponse(rig.service, keys.idp, { inResponseTo: REQUEST_ID, ...wish }), REQUEST_ID),
})

const unreachable = async (): Promise<Reply> => assert.fail('the central address passes nothing on')

export function locationOf(reply: Reply): string {
  const location = reply.head.fields.get('location')
  assert.ok(location, `no redirect, but ${reply.head.status} ${reply.refusal}`)
  return location
}

function exchangeOf(method: string, target: string, body = ''): Exchange {
  const bare = request(method === 'POST' ? 'Content-Type: application/x-www-form-urlencoded\r\n' : '')
  const content = bodyOf(Buffer.from(body))
  return {
    ...bare,
    client: { ...bare.client, scheme: 'https' },
    head: {
      ...bare.head,
      method,
      target,
      path: target.split('?')[0] ?? '',
      host: 'idp.example.test',
      authority: 'idp.example.test',
      framing: content.framing,
      fields: bare.head.fields ?? Fields.none,
    },
    body: content,
  }
}
