import assert from 'node:assert/strict'
import { parseRange } from '#base/addresses.ts'
import { createEgress } from '#base/egress-client.ts'
import type { Egress } from '#base/egress.ts'
import { Problem, type ErrorName } from '#base/errors.ts'
import { Secret } from '#base/secrets.ts'
import type { AccessLists } from '#auth/providers/access.ts'
import { OAuthMethod, type OAuthMethodOptions } from '#auth/providers/method.ts'
import type { ProviderName } from '#auth/providers/provider.ts'
import { providersOf } from '#auth/providers/table.ts'
import type { AuthResult, FlowState } from '#auth/sign-in/sign-in.ts'
import { testLog } from '../../support/secrets.ts'
import { CALLBACK, type ProviderServer } from './provider-server.ts'
import { CLIENT, type User } from './provider-shapes.ts'

export const log = testLog()
export const publicSetup = { githubUrl: 'https://github.com', gitlabUrl: 'https://gitlab.com' }
export const names = Object.keys(providersOf(publicSetup)) as ProviderName[]
/** They give no refresh tokens. */
export const withoutRefreshToken: readonly ProviderName[] = ['facebook', 'github']
const emptyLists: AccessLists = { emails: [], domains: [], teams: [], organizations: [] }

export const ann: User = {
  id: '4711',
  login: 'ann',
  name: 'Ann Example',
  email: 'Ann@Example.test',
  verified: true,
}

const loopback = parseRange('127.0.0.0/8')
const egress = createEgress({ allow: loopback ? [loopback] : [] })

/** The way out with less patience, for servers that do not answer. */
export const impatientEgress: Egress = {
  connect: target => egress.connect(target),
  request: (url, request = {}) => {
    assert.ok((request.timeoutMs ?? Infinity) <= 10_000 && (request.maxBytes ?? Infinity) <= 1_048_576)
    return egress.request(url, { ...request, timeoutMs: 200 })
  },
}

type Changes = Partial<Omit<OAuthMethodOptions, 'access' | 'provider'>> & {
  readonly access?: Partial<AccessLists>
}

/** The method, as it is but for where its provider is. */
export function methodAt(server: ProviderServer, name: ProviderName, changes: Changes = {}): OAuthMethod {
  const { access, ...rest } = changes
  return new OAuthMethod({
    provider: { ...providersOf(publicSetup)[name], addresses: server.shape.addresses(server.url) },
    application: { id: CLIENT.id, secret: new Secret(CLIENT.secret) },
    managed: false,
    scopes: [],
    lasting: true,
    egress,
    log,
    access: { ...emptyLists, ...access },
    ...rest,
  })
}

/** What the provider's page sends a browser back with. */
export async function consent(
  method: OAuthMethod,
  again = false,
): Promise<{ readonly parameters: URLSearchParams; readonly memory: FlowState; readonly asked: URL }> {
  const { url, memory } = await method.begin({ state: 'the state', callback: CALLBACK, forceReauth: again })
  const answer = await fetch(url, { redirect: 'manual' })
  assert.equal(answer.status, 302, await answer.text())
  const { origin, pathname, searchParams } = new URL(answer.headers.get('location') ?? '')
  assert.equal(origin + pathname, CALLBACK)
  assert.equal(searchParams.get('state'), 'the state')
  return { parameters: searchParams, memory, asked: new URL(url) }
}

/** From the first redirect to the end. */
export async function signIn(method: OAuthMethod): Promise<AuthResult> {
  const { parameters, memory } = await consent(method)
  return method.finish({ parameters, memory, callback: CALLBACK })
}

/** Refused with this entry of the catalogue, in words that hold `text`. */
export async function assertRefused(promise: Promise<unknown>, code: ErrorName, text = ''): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(error instanceof Problem, String(error))
    assert.deepEqual([error.code, error.message.includes(text)], [code, true], error.message)
    assert.ok(!error.message.includes(CLIENT.secret) && !error.message.includes('<b>'))
    return true
  })
}
