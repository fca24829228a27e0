import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { AgentError } from '#agent/agent-error.ts'
import type { EndpointOptions } from '#agent/index.ts'
import { CLIENT } from '../auth/providers/provider-shapes.ts'
import { type ModuleName, moduleChecks, checkDenied, moduleSettings } from '../support/module-checks.ts'
import { type ModuleWorld, openModuleWorld } from '../support/module-world.ts'
import { assertNoSecret, secretText } from '../support/secrets.ts'
import { signIn } from './support.ts'

let world: ModuleWorld
before(async () => {
  world = await openModuleWorld()
})
after(() => world[Symbol.asyncDispose]())

const oauth = { provider: 'github', clientId: CLIENT.id, clientSecret: CLIENT.secret }

const asked = (): Readonly<Record<ModuleName, EndpointOptions>> => ({
  compression: { compression: true },
  'circuit breaker': { circuitBreaker: moduleSettings.share },
  OAuth: { oauth: { ...oauth, allowEmails: [moduleSettings.emails.ann] } },
  'OpenID Connect': {
    oidc: {
      issuerUrl: world.issuer,
      clientId: moduleSettings.openIdClient.id,
      clientSecret: moduleSettings.openIdClient.secret,
      scopes: ['email', 'profile'],
      allowEmails: [moduleSettings.openIdEmail],
    },
  },
  'webhook verification': { verifyWebhook: moduleSettings.webhook },
  'user agent filter': { userAgentFilter: moduleSettings.userAgents },
  'mutual TLS': { mutualTlsCas: world.people.root.pem },
  'WebSocket to TCP': { websocketTcpConverter: true, forwardTo: world.echoPort },
})

suite('an agent requests a module, and it applies to clients', () => {
  for (const [name, prove] of Object.entries(moduleChecks))
    test(name, async () => {
      await using agent = await signIn(world.server)
      const options = { forwardTo: world.webPort, ...asked()[name as ModuleName] }
      const { url } = await agent.listen(options)
      await prove(url, world)
    })

  test('OAuth for another user', async () => {
    await using agent = await signIn(world.server)
    const lists = { allowEmails: [moduleSettings.emails.other], allowDomains: ['elsewhere.test'] }
    const { url } = await agent.listen({ forwardTo: world.webPort, oauth: { ...oauth, ...lists } })
    await checkDenied(url, world)
  })

  test('several at once', async () => {
    await using agent = await signIn(world.server)
    const { compression, 'user agent filter': filter, 'mutual TLS': mutual } = asked()
    const options = { ...compression, ...filter, ...mutual }
    const { url } = await agent.listen({ forwardTo: world.webPort, ...options })
    const { chain: cert, keyPem: key } = world.people.ann
    const visit = async (agentName: string) =>
      world.visit(`${url}/long`, {
        cert,
        key,
        headers: { 'user-agent': agentName, 'accept-encoding': 'gzip' },
      })
    assert.equal((await visit('Mozilla/5.0')).headers['content-encoding'], 'gzip')
    assert.equal((await visit('bot')).status, 403)
  })
})

test('a tunnel without options has none of them', async () => {
  await using agent = await signIn(world.server)
  const { url } = await agent.listen({ forwardTo: world.webPort })
  for (const [name, prove] of Object.entries(moduleChecks)) await assert.rejects(prove(url, world), name)
})

suite('a module that the gateway cannot compile is refused with the reason', () => {
  const refused: readonly [options: EndpointOptions, reason: RegExp][] = [
    [{ oauth: { provider: 'unknown' } }, /option OAuth .*"unknown" is not one of .*github/],
    [{ oauth: { provider: 'google', allowDomains: ['a.test'] } }, /option OAuth .*oauth_google/],
    [{ oauth: { provider: 'google' } }, /option OAuth .*no managed application .*oauth_google/],
    [{ oauth: { provider: 'github', scopes: ['x'] } }, /option OAuth .*scopes need a client_id/],
    [{ oidc: { issuerUrl: 'https://idp.test' } }, /option OIDC .*it names no client_id/],
    [{ oidc: { issuerUrl: 'nowhere', clientId: 'x' } }, /option OIDC /],
    [{ verifyWebhook: { provider: 'github' } }, /option WebhookVerification .*a secret is required/],
    [{ verifyWebhook: { provider: 'me', secret: secretText('hunter2') } }, /"me" is not a supported sender/],
    [{ userAgentFilter: { deny: ['('] } }, /option UserAgentFilter .*not a regular expression/],
    [{ proto: 'tcp', compression: true }, /option Compression .*it does not apply to tcp/],
    [{ proto: 'tls', websocketTcpConverter: true }, /WebsocketTCPConverter .*does not apply to tls/],
  ]
  for (const [options, reason] of refused)
    test(JSON.stringify(options), async () => {
      await using agent = await signIn(world.server)
      await assert.rejects(agent.listen({ forwardTo: 1, ...options }), (error: AgentError) => {
        assert.match(error.message, reason)
        assert.deepEqual([error.code, error.permanent], ['ERR_ADIT_90058', true])
        assertNoSecret('a refusal', error.message)
        return true
      })
    })

  test('a certificate that is no authority', async () => {
    await using agent = await signIn(world.server)
    const mutualTlsCas = world.people.ann.pem
    await assert.rejects(agent.listen({ forwardTo: 1, mutualTlsCas }), /option MutualTLSCA cannot be used/)
    await assert.rejects(
      agent.listen({ forwardTo: 1, proto: 'http', mutualTlsCas: world.people.root.pem }),
      /option MutualTLSCA cannot be used: it does not apply to http\./,
    )
  })
})
