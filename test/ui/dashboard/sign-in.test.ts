import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { OpenIdProvider } from '../../auth/oidc/openid-provider.ts'
import { tokenIn } from '../../support/dashboard.ts'
import { createResource } from '../../support/each-store.ts'
import { freePort } from '../../support/free-ports.ts'
import { secretText } from '../../support/secrets.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { closePages, launch } from './support.ts'

suite('signing in to the dashboard in a browser', () => {
  let server: TestServer
  let provider: OpenIdProvider
  let browser: Browser
  before(async () => {
    const port = await freePort()
    provider = await OpenIdProvider.start(`http://127.0.0.1:${port}/dashboard/oidc/callback`)
    server = await startServer({
      api_addr: `127.0.0.1:${port}`,
      egress_allow: '127.0.0.0/8',
      dashboard_openid_issuer: provider.issuer,
      dashboard_openid_client: `adit:${secretText('openid client')}`,
      dashboard_openid_domains: 'example.com',
    })
    browser = await launch()
  })
  after(async () => {
    await closePages(browser)
    await server[Symbol.asyncDispose]()
    await provider[Symbol.asyncDispose]()
  })
  const newPage = async (): Promise<Page> => {
    const page = await (await browser.newContext()).newPage()
    // The first page is bundled on demand, and hashing takes long on a busy machine.
    page.setDefaultTimeout(120_000)
    return page
  }
  const signedIn = (page: Page): Promise<void> =>
    page.getByText('Skip to the page').waitFor({ state: 'attached' })

  test('an invited user sets a password, and signs in with it in another browser', async () => {
    const email = 'invited@example.com'
    const { id } = await createResource(server.api, '/users', { name: 'Invited', email })
    const { url } = (await server.api.post('/dashboard/invite', { user_id: id })).body
    tokenIn(url)
    const page = await newPage()
    await page.goto(url)
    const button = page.getByRole('button', { name: 'Set password and sign in' })
    await page.getByLabel('New password').fill('short')
    await button.click()
    await page.getByText('has fewer than 12 characters').waitFor()
    const password = secretText('set in a browser')
    await page.getByLabel('New password').fill(password)
    await button.click()
    await signedIn(page)
    assert.equal(new URL(page.url()).hash, '')
    const asked: string[] = []
    page.on('request', request => void asked.push(new URL(request.url()).pathname))
    await page.reload()
    await signedIn(page)
    assert.deepEqual(
      asked.filter(path => path === '/dashboard/session'),
      ['/dashboard/session'],
      'the script uses the response to the preload',
    )

    const other = await newPage()
    await other.goto(`${server.api.url}/dashboard/login`)
    await other.getByLabel('E-mail address').fill(email)
    await other.getByLabel('Password').fill(password)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await signedIn(other)
  })

  test('SEC-password-fields: passwords can be pasted, shown and kept by password managers, and are rated', async () => {
    const { id } = await createResource(server.api, '/users', { name: 'Pasting', email: 'paste@example.com' })
    const { url } = (await server.api.post('/dashboard/invite', { user_id: id })).body
    tokenIn(url)
    const page = await newPage()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(url)
    const field = page.getByLabel('New password')
    assert.deepEqual(
      [await field.getAttribute('type'), await field.getAttribute('autocomplete')],
      ['password', 'new-password'],
    )
    await page.evaluate("navigator.clipboard.writeText('too short')")
    await field.press('Control+v')
    assert.equal(await field.inputValue(), 'too short')
    await page.getByText('Too short').waitFor()
    await page.getByLabel('Show it').check()
    assert.equal(await field.getAttribute('type'), 'text')
    const password = secretText('pasted into a field')
    await field.fill(password)
    await page.getByText('Strong', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Set password and sign in' }).click()
    await signedIn(page)
    await page.goto('about:blank')
    await page.context().clearCookies()
    await page.goto(`${server.api.url}/dashboard/login`)
    const current = page.getByLabel('Password')
    assert.deepEqual(
      [await current.getAttribute('type'), await current.getAttribute('autocomplete')],
      ['password', 'current-password'],
    )
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(password)})`)
    await page.getByLabel('E-mail address').fill('paste@example.com')
    await current.press('Control+v')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await signedIn(page)
  })

  test('SEC-browser-storage: scripts find no cookie, and storage keeps only the theme', async () => {
    const page = await newPage()
    await page.goto((await server.api.post('/dashboard/link')).body.url)
    await signedIn(page)
    const stored = () =>
      page.evaluate('[document.cookie, ...Object.keys({ ...localStorage, ...sessionStorage })]')
    assert.deepEqual(await stored(), ['', 'adit-theme'])
    await page.locator('details.menu > summary').click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    assert.deepEqual(await stored(), ['', 'adit-theme'])
    assert.equal(await page.getByRole('navigation').count(), 0)
    assert.ok((await page.context().cookies()).every(({ value }) => value === ''))
  })

  test('a session is ended from another browser, and all of them by signing out everywhere', async () => {
    const open = async (): Promise<Page> => {
      const page = await newPage()
      await page.goto((await server.api.post('/dashboard/link')).body.url)
      await signedIn(page)
      return page
    }
    const ended = (page: Page): Promise<void> => page.getByText('Your session has ended.').waitFor()
    const [first, other] = [await open(), await open()]
    // The newest is listed first.
    await first.locator('details.menu > summary').click()
    await first.getByRole('link', { name: 'Sessions' }).click()
    await first
      .getByRole('region', { name: 'Dashboard sessions' })
      .getByRole('rowheader')
      .first()
      .getByRole('link')
      .click()
    await first.getByRole('button', { name: 'Delete' }).click()
    await first.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await ended(other)
    const third = await open()
    await first.locator('details.menu > summary').click()
    await first.getByRole('button', { name: 'Sign out everywhere' }).click()
    await first.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await ended(third)
    assert.equal(await first.getByText('Your session has ended.').count(), 0)
  })

  test('a user of the OpenID provider signs in there', async () => {
    const page = await newPage()
    // The pages of the provider load a font from the Internet, and are shown only after that.
    await page.route('https://fonts.googleapis.com/**', route => route.abort())
    await page.goto(`${server.api.url}/dashboard/login`)
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click()
    await page.locator('input[name=login]').fill('grace')
    await page.locator('input[name=password]').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await signedIn(page)
    const { users } = (await server.api.get('/users')).body
    assert.ok(users.some(({ email }: { email: string }) => email === 'grace@example.com'))
  })

  test('a sign-in that the OpenID provider ends says why, on the page for another attempt', async () => {
    const page = await newPage()
    await page.route('https://fonts.googleapis.com/**', route => route.abort())
    await page.goto(`${server.api.url}/dashboard/oidc`)
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await page.getByRole('alert').getByText('it says "access_denied"').waitFor()
    await page.getByRole('alert').getByText('ERR_ADIT_3112').waitFor()
    await page.goto((await server.api.post('/dashboard/link')).body.url)
    await signedIn(page)
    await page.goto(`${server.api.url}/dashboard/oidc/callback?code=x&state=y`)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })

  test('a user changes the password, and signs in with the new one', async () => {
    const email = 'changing@example.com'
    const { id } = await createResource(server.api, '/users', { name: 'Changing', email })
    const { url } = (await server.api.post('/dashboard/invite', { user_id: id })).body
    tokenIn(url)
    const [first, next] = [secretText('first in a browser'), secretText('next in a browser')]
    const page = await newPage()
    await page.goto(url)
    await page.getByLabel('New password').fill(first)
    await page.getByRole('button', { name: 'Set password and sign in' }).click()
    await signedIn(page)
    await page.getByText('Changing', { exact: true }).click()
    await page.getByRole('link', { name: 'Change password' }).click()
    await page.getByRole('heading', { level: 1, name: 'Change your password' }).waitFor()
    const change = async (current: string): Promise<void> => {
      await page.getByLabel('Current password').fill(current)
      await page.getByLabel('New password').fill(next)
      await page.getByRole('button', { name: 'Change password' }).click()
    }
    await change('a wrong guess')
    await page.getByRole('alert').getByText('ERR_ADIT_90460').waitFor()
    await change(first)
    await page.getByText('The password is changed. All other browsers are signed out.').waitFor()
    const other = await newPage()
    await other.goto(`${server.api.url}/dashboard/login`)
    await other.getByLabel('E-mail address').fill(email)
    await other.getByLabel('Password').fill(next)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await signedIn(other)
  })
})
