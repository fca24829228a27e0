import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { CLIENT } from '../../auth/providers/provider-shapes.ts'
import { type ModuleName, moduleChecks, checkDenied, moduleSettings } from '../../support/module-checks.ts'
import { type ModuleWorld, openModuleWorld } from '../../support/module-world.ts'
import { assertNoSecret, secretText } from '../../support/secrets.ts'
import { openHoldingProxy } from './agent-sdk/holding-proxy.ts'
import type { Step } from './agent-sdk/messages.ts'
import { callback, accessTo, Sdk } from './agent-sdk/sdk.ts'
import { until } from '../../support/until.ts'

suite('the published SDK @ngrok/ngrok: modules of HTTP endpoints', () => {
  let world: ModuleWorld
  let sdk: Sdk
  before(async () => {
    world = await openModuleWorld()
    sdk = new Sdk(accessTo(world.server))
  })
  after(async () => {
    await sdk[Symbol.asyncDispose]()
    await world[Symbol.asyncDispose]()
  })

  const oauth = {
    oauth_provider: 'github',
    oauth_client_id: CLIENT.id,
    oauth_client_secret: CLIENT.secret,
    oauth_scopes: ['read:user', 'user:email'],
  }

  /** The options of `forward()`. */
  const asked = (): Readonly<Record<ModuleName, object>> => ({
    compression: { compression: true },
    'circuit breaker': { circuit_breaker: moduleSettings.share },
    OAuth: {
      ...oauth,
      oauth_allow_emails: [moduleSettings.emails.ann],
      oauth_allow_domains: ['elsewhere.test'],
    },
    'OpenID Connect': {
      oidc_issuer_url: world.issuer,
      oidc_client_id: moduleSettings.openIdClient.id,
      oidc_client_secret: moduleSettings.openIdClient.secret,
      oidc_scopes: ['email', 'profile'],
      oidc_allow_emails: [moduleSettings.openIdEmail],
    },
    'webhook verification': {
      verify_webhook_provider: moduleSettings.webhook.provider,
      verify_webhook_secret: moduleSettings.webhook.secret,
    },
    'user agent filter': {
      allow_user_agent: moduleSettings.userAgents.allow,
      deny_user_agent: moduleSettings.userAgents.deny,
    },
    'mutual TLS': { mutual_tls_cas: [world.people.root.pem] },
    'WebSocket to TCP': { websocket_tcp_converter: true, addr: world.echoPort },
  })

  for (const [name, prove] of Object.entries(moduleChecks))
    test(`${name}, with forward()`, async () => {
      const { url } = await sdk.forward({ addr: world.webPort, ...asked()[name as ModuleName] })
      await prove(url, world)
    })

  test('OAuth allows only the listed users', async () => {
    const { url } = await sdk.forward({
      addr: world.webPort,
      ...oauth,
      oauth_allow_emails: [moduleSettings.emails.other],
    })
    await checkDenied(url, world)
  })

  /** The steps of `httpEndpoint()`. */
  const steps = (): Readonly<Record<ModuleName, readonly Step[]>> => {
    const { openIdClient: client, webhook, userAgents } = moduleSettings
    const only = [[moduleSettings.openIdEmail], [], ['email']] as const
    return {
      compression: [['compression']],
      'circuit breaker': [['circuitBreaker', moduleSettings.share]],
      OAuth: [['oauth', 'github', [moduleSettings.emails.ann], [], [], CLIENT.id, CLIENT.secret]],
      'OpenID Connect': [['oidc', world.issuer, client.id, client.secret, ...only]],
      'webhook verification': [['webhookVerification', webhook.provider, webhook.secret]],
      'user agent filter': [
        ...userAgents.allow.map(each => ['allowUserAgent', each] as const),
        ...userAgents.deny.map(each => ['denyUserAgent', each] as const),
      ],
      'mutual TLS': [['mutualTlsca', Buffer.from(world.people.root.pem)]],
      'WebSocket to TCP': [['websocketTcpConversion']],
    }
  }

  test('each of them with httpEndpoint(), and again after the connection was cut', async () => {
    const { server } = world
    await using front = await openHoldingProxy(server.bound.agent?.port ?? 0)
    await using other = new Sdk({ ...accessTo(server), server_addr: `localhost:${front.port}` })
    const session = await other.connect(['handleDisconnection', callback('lost')])
    const urls = new Map<ModuleName, string>()
    for (const [name, each] of Object.entries(steps())) {
      const port = name === 'WebSocket to TCP' ? world.echoPort : world.webPort
      const serve = ['listenAndForward', `http://127.0.0.1:${port}/`] as const
      const { url } = await other.call(session, ['httpEndpoint'], ...each, serve)
      urls.set(name as ModuleName, url)
    }
    for (const [name, url] of urls) await moduleChecks[name](url, world)
    const lost = other.next('lost')
    front.cut()
    await lost
    const online = async (): Promise<Set<string>> => {
      const { body } = await server.api.get('/tunnels')
      return new Set(body.tunnels.map((each: { public_url: string }) => each.public_url))
    }
    await until(async () => new Set(urls.values()).isSubsetOf(await online()), { what: 'all are back' })
    // It may remember that the service has failed just now.
    urls.delete('circuit breaker')
    for (const [name, url] of urls) await moduleChecks[name](url, world)
  })

  const refused: Readonly<Record<string, readonly [options: object, reason: RegExp]>> = {
    'an unknown provider': [{ oauth_provider: 'unknown' }, /OAuth .*"unknown" is not one of/],
    'a provider without an application': [
      { oauth_provider: 'google', oauth_allow_domains: ['a.test'] },
      /OAuth .*oauth_google/,
    ],
    'an issuer that is none': [
      { oidc_issuer_url: 'nowhere', oidc_client_id: 'a', oidc_client_secret: 'b' },
      /OIDC /,
    ],
    'an unknown sender': [
      { verify_webhook_provider: 'me', verify_webhook_secret: secretText('hunter2') },
      /WebhookVerification .*"me" is not a supported sender/,
    ],
    'what is no regular expression': [
      { deny_user_agent: ['('] },
      /UserAgentFilter .*not a regular expression/,
    ],
    'a share above one': [{ circuit_breaker: 1.5 }, /CircuitBreaker .*between 0 and 1/],
  }
  for (const [what, [options, reason]] of Object.entries(refused))
    test(`${what} is refused with the reason`, async () => {
      await assert.rejects(
        sdk.forward({ addr: world.webPort, ...options }),
        (error: Error & { errorCode?: string }) => {
          assert.match(error.message, reason)
          assertNoSecret('a refusal', error.message)
          return error.errorCode === 'ERR_NGROK_90058'
        },
      )
    })
})
