import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { tokenIn } from '../../support/dashboard.ts'
import { createResource } from '../../support/each-store.ts'
import { secretText } from '../../support/secrets.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { closePages, launch } from './support.ts'

/** A page with an authenticator of its own. */
interface Device {
  readonly page: Page
  readonly cdp: CDPSession
  readonly authenticator: string
}

suite('passkeys of the dashboard', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  before(async () => {
    server = await startServer()
    // Browsers have no passkeys at addresses.
    base = server.api.url.replace('127.0.0.1', 'localhost')
    browser = await launch()
  })
  after(async () => {
    await closePages(browser)
    await server[Symbol.asyncDispose]()
  })

  async function newDevice(): Promise<Device> {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(120_000)
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const { authenticatorId: authenticator } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    return { page, cdp, authenticator }
  }

  /** Signs a new member in by invitation. */
  async function invited({ page }: Device, name: string): Promise<string> {
    const { id } = await createResource(server.api, '/users', { name, email: `${name}@example.com` })
    const { url } = (await server.api.post('/dashboard/invite', { user_id: id })).body
    await page.goto(`${base}/dashboard/invitation#token=${tokenIn(url)}`)
    await page.getByLabel('New password').fill(secretText(`password of ${name}`))
    await page.getByRole('button', { name: 'Set password and sign in' }).click()
    await signedIn(page)
    return id
  }

  const signedIn = (page: Page): Promise<void> =>
    page.getByText('Skip to the page').waitFor({ state: 'attached' })

  async function addPasskey({ page }: Device): Promise<void> {
    await page.locator('details.menu > summary').click()
    // Shown for seconds only.
    const notice = page.getByText('The passkey is added.').waitFor()
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await notice
  }

  /** Signs out, and in again with the passkey; returns what the server was sent. */
  async function useIt({ page }: Device): Promise<string> {
    await page.context().clearCookies()
    await page.goto(`${base}/dashboard/login`)
    const sent = page.waitForRequest(request => request.url().endsWith('/dashboard/passkeys/login'))
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    return (await sent).postData() ?? ''
  }

  const login = (body: string | object, headers: Record<string, string> = {}) =>
    server.api.call('POST', `${base}/dashboard/passkeys/login`, {
      token: null,
      body,
      headers: { origin: base, 'sec-fetch-site': 'same-origin', ...headers },
    })

  const newest = async (type: string) =>
    (await server.api.get(`/audit_events?type=${type}&limit=1`)).body.audit_events[0]

  test('SEC-passkey: a user adds one, signs in with it and removes it; the audit log names the user', async () => {
    const device = await newDevice()
    await invited(device, 'ada')
    await addPasskey(device)
    assert.equal((await newest('passkey_created.v0')).principal.subject, 'ada@example.com')
    const body = await useIt(device)
    await signedIn(device.page)
    const session = await newest('dashboard_session_created.v0')
    assert.equal(session.principal.subject, 'ada@example.com')
    assert.equal(session.object.method, 'passkey')

    const replayed = await login(body)
    assert.deepEqual([replayed.status, replayed.body.error_code], [401, 'ERR_ADIT_90521'])
    assert.match(replayed.body.msg, /the challenge was used before/)
    assert.equal((await newest('dashboard_session_rejected.v0')).principal.subject, 'ada@example.com')

    const [passkey] = (await server.api.get('/passkeys')).body.passkeys
    assert.deepEqual([passkey.host, 'public_key' in passkey], ['localhost', false])
    assert.equal((await server.api.delete(`/passkeys/${passkey.id}`)).status, 204)
    await useIt(device)
    await device.page.getByText('it is not known here').waitFor()
    await device.page.context().close()
  })

  test('SEC-passkey: another origin, purpose, user or an earlier counter is refused', async () => {
    const device = await newDevice()
    const { page, cdp, authenticator } = device
    await invited(device, 'grace')
    await addPasskey(device)
    // What the browser sends is stopped, so that its challenge is still good.
    await page.route('**/dashboard/passkeys/login', route => route.abort())
    const given = JSON.parse(await useIt(device))
    const client = JSON.parse(Buffer.from(given.client_data, 'base64url').toString())
    const withClient = (changes: object) => ({
      ...given,
      client_data: Buffer.from(JSON.stringify({ ...client, ...changes })).toString('base64url'),
    })
    const expected: [object, RegExp][] = [
      [withClient({ origin: 'https://evil.example' }), /another origin/],
      [withClient({ crossOrigin: true }), /another origin/],
      [withClient({ type: 'webauthn.create' }), /another purpose/],
      [withClient({ challenge: 'AAAA' }), /challenge is not valid/],
      [withClient({ extra: 1 }), /signature is wrong/],
      [{ ...given, user_handle: Buffer.from('usr_other').toString('base64url') }, /another user/],
      [{ ...given, credential_id: 'AAAA' }, /not known here/],
    ]
    for (const [body, reason] of expected) {
      const { status, body: refusal } = await login(body)
      assert.equal(status, 401, JSON.stringify(refusal))
      assert.match(refusal.msg, reason)
    }
    assert.equal(
      (await login(given, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status,
      403,
    )

    // A copy of the device is behind the counter of the original.
    await page.unroute('**/dashboard/passkeys/login')
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId: authenticator })
    await useIt(device)
    await signedIn(page)
    const [copied] = credentials
    assert.ok(copied)
    await cdp.send('WebAuthn.clearCredentials', { authenticatorId: authenticator })
    await cdp.send('WebAuthn.addCredential', {
      authenticatorId: authenticator,
      credential: { ...copied, signCount: 0 },
    })
    await useIt(device)
    await page.getByText('its counter went back').waitFor()
    await page.context().close()
  })
})
