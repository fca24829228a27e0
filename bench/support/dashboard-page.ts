import type { Browser, Page } from 'playwright-core'
import type { Caller } from '../../test/support/server.ts'

/** A page of the dashboard, signed in by a one-time link; disposing of it closes its browser context. */
interface DashboardPage extends AsyncDisposable {
  readonly page: Page
}

export async function openDashboard(browser: Browser, api: Caller): Promise<DashboardPage> {
  const { body } = await api.post('/dashboard/link', {})
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  await page.goto(String(body.url))
  await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' })
  return { page, [Symbol.asyncDispose]: () => context.close() }
}
