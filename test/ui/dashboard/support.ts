import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchChromium } from '../../support/chromium.ts'
import { secretText } from '../../support/secrets.ts'
import type { Caller } from '../../support/server.ts'

let shared: Promise<Browser> | undefined

/** The browser of all test files in this process, which are to close their pages with `closePages`. */
export function launch(): Promise<Browser> {
  shared ??= launchChromium()
  return shared
}
after(async () => (await shared)?.close())

/** A page that stays open would call a server that has ended. */
export async function closePages(browser: Browser): Promise<void> {
  for (const context of browser.contexts()) await context.close()
}

/** What Playwright waits for a page by itself is too short on a busy machine. */
export const PAGE_MS = 120_000

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')

interface Options {
  readonly token?: string
  readonly width?: number
  readonly colorScheme?: 'light' | 'dark'
  /** A phone: no mouse and no keyboard. */
  readonly isTouch?: boolean
}

/** A browser that is signed in to the dashboard. */
export class Dashboard implements AsyncDisposable {
  readonly page: Page
  readonly url: string
  /** Errors in the console, requests to other origins and violations of the policy. */
  readonly errors: string[] = []
  readonly #context: BrowserContext

  private constructor(page: Page, url: string, context: BrowserContext) {
    this.page = page
    this.url = url
    this.#context = context
    page.setDefaultTimeout(PAGE_MS)
    page.on('console', message => void (message.type() === 'error' && this.errors.push(message.text())))
    page.on('pageerror', error => void this.errors.push(String(error)))
    page.on('request', request => {
      const { protocol, origin } = new URL(request.url())
      if (!['data:', 'blob:'].includes(protocol) && origin !== url) this.errors.push(request.url())
    })
  }

  /** Opens a one-time link of the key, and waits until the overview is shown. */
  static async open(browser: Browser, api: Caller, options: Options = {}): Promise<Dashboard> {
    const { token, width = 1280, colorScheme = 'light', isTouch = false } = options
    const { status, body } = await api.post('/dashboard/link', {}, token === undefined ? {} : { token })
    assert.equal(status, 201)
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      colorScheme,
      hasTouch: isTouch,
      isMobile: isTouch,
    })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: api.url })
    const dashboard = new Dashboard(await context.newPage(), api.url, context)
    await dashboard.page.goto(String(body.url))
    await dashboard.page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' })
    return dashboard
  }

  /** Signs a new member in, by an invitation. */
  static async openAsMember(browser: Browser, api: Caller): Promise<Dashboard> {
    const user = await api.post('/users', { name: 'Member', email: 'member@example.com' })
    const { body } = await api.post('/dashboard/invite', { user_id: user.body.id })
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const dashboard = new Dashboard(await context.newPage(), api.url, context)
    const { page } = dashboard
    await page.goto(String(body.url))
    await page.getByLabel('New password').fill(secretText('password of a member'))
    await page.getByRole('button', { name: 'Set password and sign in' }).click()
    // Hashing takes long on a busy machine.
    await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached', timeout: 120_000 })
    return dashboard
  }

  /** Opens a page below /dashboard, and waits for its heading. */
  async visit(path: string, heading?: string): Promise<void> {
    // As a link does: loading the document for each page would take most of the time of the tests.
    await this.page.evaluate(
      `history.pushState(null, '', ${JSON.stringify(`/dashboard${path}`)}); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await this.page
      .getByRole('heading', { level: 1, ...(heading !== undefined && { name: heading }) })
      .waitFor()
  }

  /** The serious findings of axe-core on the page that is shown; of all its rules unless some are given. */
  async findings(rules?: readonly string[]): Promise<string[]> {
    // Evaluated by the debugger, which the policy of the page does not restrict.
    if (!(await this.page.evaluate('"axe" in window'))) await this.page.evaluate(axe)
    const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
    return (await this.page.evaluate(
      `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
    )) as string[]
  }

  async hasSidewaysScroll(): Promise<boolean> {
    return Boolean(
      await this.page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth'),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close()
  }
}
