import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { gunzipSync } from 'node:zlib'
import { WebSocket } from 'ws'
import { lookup, rootOf, type Seen } from '../e2e/compat/agent-sdk/visits.ts'
import { World } from '../e2e/edges/world.ts'
import { Browser } from '../auth/providers/browser.ts'
import { EdgeBrowser } from '../auth/oidc/openid-provider.ts'
import { secretText } from './secrets.ts'
import { LONG_TEXT, type ModuleWorld } from './module-world.ts'

/** The modules that any agent can configure, and whose effect needs more than one request to observe. */
export type ModuleName =
  | 'compression'
  | 'circuit breaker'
  | 'OAuth'
  | 'OpenID Connect'
  | 'webhook verification'
  | 'user agent filter'
  | 'mutual TLS'
  | 'WebSocket to TCP'

/** The configuration of the modules under test. */
export const moduleSettings = {
  share: 0.5,
  /** The address of the user that signs in at the OAuth provider, and one of no user. */
  emails: { ann: 'ann@example.test', other: 'other@example.test' },
  webhook: { provider: 'github', secret: secretText('webhook') },
  userAgents: { allow: ['^curl/8'], deny: ['curl', '(?i)bot'] },
  /** The only user that is allowed to sign in by OpenID Connect. */
  openIdEmail: 'anna@example.com',
  openIdClient: { id: 'adit', secret: secretText('openid client') },
} as const

const codeOf = ({ headers }: Seen): unknown => headers['adit-error-code']
const seenBy = ({ text }: { readonly text: string }): { headers: Record<string, string>; body: string } =>
  JSON.parse(text)

/** Visits through the public listener which show that a tunnel has a module. */
export const moduleChecks: Readonly<Record<ModuleName, (url: string, world: ModuleWorld) => Promise<void>>> =
  {
    async compression(url, { visit }) {
      const seen = await visit(`${url}/long`, { headers: { 'accept-encoding': 'gzip' } })
      assert.deepEqual([seen.status, seen.headers['content-encoding']], [200, 'gzip'])
      assert.equal(gunzipSync(seen.body).toString(), LONG_TEXT)
      const plain = await visit(`${url}/long`)
      assert.deepEqual([plain.headers['content-encoding'], plain.text], [undefined, LONG_TEXT])
    },

    async 'circuit breaker'(url, { visit }) {
      // As many as must be seen before it judges.
      // At once, since it forgets them after ten seconds.
      const seenBroken = await Promise.all(Array.from({ length: 20 }, () => visit(`${url}/broken`)))
      assert.deepEqual(new Set(seenBroken.map(({ text }) => text)), new Set(['broken']))
      const seen = await visit(`${url}/fine`)
      assert.deepEqual([seen.status, codeOf(seen)], [503, 'ERR_ADIT_3202'])
    },

    async OAuth(url, { server }) {
      const page = await new Browser(server).open(`${url}/deep?x=1`)
      assert.equal(page.status, 200, page.body)
      assert.equal(page.url.href, `${url}/deep?x=1`)
      assert.equal(seenBy({ text: page.body }).headers['ngrok-auth-user-email'], 'Ann@Example.test')
    },

    async 'OpenID Connect'(url, { server }) {
      const page = await new EdgeBrowser(new World(server)).signIn(`${url}/deep?x=1`, 'anna')
      assert.equal(page.status, 200, page.text)
      assert.equal(seenBy(page).headers['ngrok-auth-user-email'], 'anna@example.com')
      const refused = await new EdgeBrowser(new World(server)).signIn(url, 'bob')
      assert.deepEqual([refused.status, refused.code], [403, 'ERR_ADIT_3105'])
    },

    async 'webhook verification'(url, { visit }) {
      const body = '{"action":"opened"}'
      const post = (secret: string) => {
        const signature = createHmac('sha256', secret).update(body).digest('hex')
        const headers = { 'x-hub-signature-256': `sha256=${signature}` }
        return visit(`${url}/hook`, { method: 'POST', headers, body })
      }
      assert.equal(seenBy(await post(moduleSettings.webhook.secret)).body, body)
      for (const refused of [await post('another secret'), await visit(url)])
        assert.deepEqual([refused.status, codeOf(refused)], [403, 'ERR_ADIT_3204'])
    },

    async 'user agent filter'(url, { visit }) {
      const status = async (agent: string) => {
        const seen = await visit(url, { headers: { 'user-agent': agent } })
        return seen.status === 200 ? 200 : codeOf(seen)
      }
      assert.equal(await status('curl/8.5.0'), 200)
      assert.equal(await status('Mozilla/5.0'), 200)
      assert.equal(await status('curl/7.88.1'), 'ERR_ADIT_3211')
      assert.equal(await status('GoodBot/1.0'), 'ERR_ADIT_3211')
    },

    async 'mutual TLS'(url, { visit, people: { ann, stranger } }) {
      const seen = await visit(url, { cert: ann.chain, key: ann.keyPem })
      assert.equal(seenBy(seen).headers['ngrok-mtls-subject-cn'], 'Ann')
      await assert.rejects(visit(url))
      await assert.rejects(visit(url, { cert: stranger.chain, key: stranger.keyPem }))
    },

    async 'WebSocket to TCP'(url, { visit, server }) {
      const socket = new WebSocket(url.replace(/^http/, 'ws'), { ca: rootOf(server.dataDir), lookup })
      await once(socket, 'open')
      socket.send(Buffer.from([0, 255, 10, 13]))
      const [echo, isBinary] = await once(socket, 'message')
      assert.deepEqual([isBinary, echo], [true, Buffer.from([0, 255, 10, 13])])
      socket.terminate()
      const seen = await visit(url)
      assert.deepEqual([seen.status, codeOf(seen)], [400, 'ERR_ADIT_3206'])
    },
  }

/** For the user that signs in at the OAuth provider, where only another user is allowed. */
export async function checkDenied(url: string, { server }: ModuleWorld): Promise<void> {
  const page = await new Browser(server).open(url)
  assert.deepEqual([page.status, /3105/.test(page.body)], [403, true], page.body)
}
